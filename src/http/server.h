// An HTTP/1.1 server for metrics, health checks and a few pages: small, bounded in all it does.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/http/listener.h"
#include "src/http/message.h"
#include "src/http/web_config.h"

namespace jobscope {

// Called on one of the server's threads, often on several at once. May block: it holds up only
// requests for the same path. An exception becomes a 500 and a line in the log.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// What is beyond a limit is refused and counted. All times are totals, not per byte.
struct ServerOptions {
  std::vector<std::string> addresses;  // see open_listeners()
  PassedSockets passed;
  std::shared_ptr<WebConfig> web;  // TLS, passwords, headers; null: none

  size_t header_bytes = 16 << 10;  // request line and headers: else 431
  size_t body_bytes = 1 << 20;     // else 413; a GET may have as many as the headers
  size_t connections = 256;        // else 503, unless one idles that can be closed instead
  std::chrono::milliseconds handshake_time{5000};  // TLS
  std::chrono::milliseconds header_time{5000};     // of a first request: since the connection
  std::chrono::milliseconds body_time{10000};
  std::chrono::milliseconds response_time{30000};  // to take a response
  std::chrono::milliseconds idle_time{60000};      // between two requests
  std::chrono::milliseconds evict_time{1000};      // idle for less: not closed for others
  std::chrono::milliseconds stop_time{2000};       // for requests under way at stop()

  size_t threads = 4;            // for handlers and passwords
  size_t threads_per_route = 2;  // the most that one path may have of them
  size_t gzip_bytes = 1024;      // of a body; smaller ones are sent as they are
  int gzip_level = 1;

  // One line each, from several threads but one at a time; so many a minute and then only counted.
  std::function<void(std::string)> log;
};

struct ServerCounters {
  uint64_t accepted = 0;         // connections
  uint64_t refused = 0;          // connections: too many
  uint64_t evicted = 0;          // idle connections closed in favour of new ones
  uint64_t open = 0;             // connections now
  uint64_t accept_failures = 0;  // no descriptors left, and the like
  uint64_t handshake_failures = 0;
  uint64_t timed_out = 0;               // connections: too slow in anything but idling
  uint64_t idle_closed = 0;             // connections: no further request in time
  uint64_t bad_requests = 0;            // not HTTP as the RFCs have it: 400
  uint64_t too_large = 0;               // 413 and 431
  uint64_t unauthorized = 0;            // 401
  uint64_t rate_limited = 0;            // 429
  uint64_t handler_failures = 0;        // exceptions
  uint64_t aborted = 0;                 // connections: gone within a request or a response
  std::array<uint64_t, 6> responses{};  // by first digit of the status
  uint64_t received_bytes = 0;          // of HTTP, without TLS's own
  uint64_t sent_bytes = 0;
};

class HttpServer {
 public:
  // Opens all addresses, so that what is wrong is known before there is more to do.
  static Result<std::unique_ptr<HttpServer>> listen(ServerOptions options);
  ~HttpServer();  // stops

  // Before start(). A path that ends in '/' has all below it too, except "/" itself; the longest
  // wins. GET brings HEAD with it.
  void route(std::string path, HttpHandler handler, std::vector<std::string> methods = {"GET"});
  // Once. Clients that came since listen() are served from here on.
  void start();
  // Closes what idles, gives requests under way `stop_time`, waits for handlers that run. Not to be
  // called by a handler. Again: nothing.
  void stop();

  // As they are bound: "127.0.0.1:34567".
  const std::vector<std::string>& addresses() const;
  // From any thread, also after stop().
  ServerCounters counters() const;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  static Result<std::unique_ptr<HttpServer>> open(ServerOptions options);
  std::unique_ptr<Impl> impl_;
};

}  // namespace jobscope
