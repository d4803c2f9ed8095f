// One client of the server. Only for the .cc files of this folder.
#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <optional>
#include <string>

#include "src/http/server_core.h"
#include "src/http/transport.h"

namespace jobscope {

// All on the loop's thread. Lives as long as an operation of it is under way.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Clock = std::chrono::steady_clock;

  Connection(ServerCore& core, std::unique_ptr<Transport> transport);

  void start(bool tls);
  // At once, from any state.
  void close();
  // A request under way is finished first.
  void stop();
  // Since when it waits for a request of which nothing has come; empty: it does not.
  std::optional<Clock::time_point> idle_since() const;

 private:
  using ErrorCode = boost::system::error_code;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  enum class Phase { handshake, idle, header, body, working, responding, closing, closed };

  void arm(std::chrono::milliseconds time);
  void disarm();
  void on_timeout();
  void run_handler(const HttpRequest& request);

  void await_request();
  void read();
  void on_read(ErrorCode error, size_t bytes);
  void parse();
  bool skip_empty_lines();
  bool looks_like_http() const;
  void on_parse_error(ErrorCode error);

  void on_header();
  bool read_target();
  void authenticate();
  void on_authorized(bool authorized);
  void choose_route();
  void on_request();

  void refuse(int status, std::string text, HttpHeaders headers = {});
  void respond(HttpResponse response, bool keep_alive);
  void on_written(ErrorCode error, size_t bytes, bool keep_alive);
  void linger();
  void drain();

  ServerCore& core_;
  std::unique_ptr<Transport> transport_;
  boost::asio::steady_timer timer_;
  uint64_t timer_generation_ = 0;
  Phase phase_ = Phase::handshake;
  std::atomic<bool> closed_ = false;  // for the workers: nobody waits for an answer
  bool first_ = true;                 // request
  Clock::time_point idle_since_;
  size_t drained_ = 0;

  boost::beast::flat_buffer in_;
  std::optional<Parser> parser_;
  bool line_done_ = false;  // the request's first line
  bool header_done_ = false;
  bool continuing_ = false;  // 100 Continue is being written
  HttpRequest request_;
  bool head_only_ = false;
  const Route* route_ = nullptr;
  std::shared_ptr<const WebPolicy> policy_;

  std::string out_head_, out_body_;
};

}  // namespace jobscope
