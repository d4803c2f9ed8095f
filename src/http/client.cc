#include "src/http/client.h"

#include <fmt/format.h>
#include <sys/un.h>

#include <algorithm>
#include <boost/asio/ssl/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>

#include "src/http/resolve.h"
#include "src/http/transport.h"
#include "src/http/url.h"

namespace jobscope {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Parser = http::response_parser<http::string_body>;

constexpr size_t kReadBytes = 16 << 10;
constexpr uint32_t kHeaderBytes = 64 << 10;
constexpr std::chrono::milliseconds kTick{100};
constexpr const char* kCertificateHint =
    "if its authority is not one of this system's, give the file with the authority's certificate";

class Exchange {
 public:
  Exchange(const HttpCall& call, Url url)
      : call_(call), url_(std::move(url)), deadline_(Clock::now() + call.timeout) {}

  Result<HttpReply> run() {
    TRY(connect());
    TRY(write());
    auto reply = read();
    // A server may answer before it has read all, and close.
    if (!reply && write_error_) return problem("sending", write_error_);
    return reply;
  }

 private:
  // Starts an operation and runs it to its end or the deadline.
  template <class Start>
  Result<> wait(const char* what, Start&& start) {
    std::optional<error_code> result;
    context_.restart();
    start([&result](error_code error, size_t) { result = error; });
    bool given_up = false;
    while (!result && !given_up && Clock::now() < deadline_) {
      context_.run_until(call_.give_up ? std::min(deadline_, Clock::now() + kTick) : deadline_);
      given_up = !result && call_.give_up && call_.give_up();
    }
    if (result) return *result ? Result<>(problem(what, *result)) : Result<>();
    transport_->close();
    context_.restart();
    context_.run();  // the operation ends now, and uses nothing of ours any more
    return problem(what, given_up ? asio::error::operation_aborted : asio::error::timed_out);
  }

  tl::unexpected<Error> problem(const std::string& what, const error_code& error) {
    last_error_ = error;
    Error result{fmt::format("{}: {}", what, error.message()), {}, 0};
    if (error.category() == boost::system::system_category()) result.code = error.value();
    if (error == asio::error::timed_out)
      result.what = fmt::format("{}: no end after {} s", what,
                                std::chrono::duration<double>(call_.timeout).count());
    if (error.category() == asio::error::get_ssl_category()) result.hint = kCertificateHint;
    return tl::unexpected(std::move(result));
  }

  Result<> connect() {
    std::vector<SocketAddress> addresses;
    if (call_.unix_socket.empty()) {
      addresses = TRY(resolve(url_.host, url_.port, deadline_));
    } else {
      SocketAddress address;
      auto* file = reinterpret_cast<sockaddr_un*>(&address.name);
      if (call_.unix_socket.size() >= sizeof(file->sun_path))
        return fail("the path of the socket is too long: " + call_.unix_socket);
      file->sun_family = AF_UNIX;
      call_.unix_socket.copy(file->sun_path, call_.unix_socket.size());
      address.bytes = sizeof(sockaddr_un);
      addresses.push_back(address);
    }
    Result<> last = fail("the host has no address");
    for (const SocketAddress& address : addresses) {
      last = connect(address);
      if (last || Clock::now() >= deadline_) break;
    }
    TRY(last);
    if (!url_.tls) return {};
    const TlsContext tls = call_.tls ? call_.tls : TRY(make_client_tls({}));
    Socket socket = std::move(transport_->socket());
    transport_ = TRY(tls_transport(std::move(socket), tls, Side::client, url_.host));
    return wait("TLS", [&](auto done) { transport_->handshake(done); });
  }

  Result<> connect(const SocketAddress& address) {
    const int fd = ::socket(address.name.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return fail_errno("connecting");
    transport_ = plain_transport(adopt_socket(context_, fd));
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address.name), address.bytes) == 0)
      return {};
    if (errno != EINPROGRESS) return fail_errno("connecting");
    TRY(wait("connecting", [&](auto done) {
      transport_->socket().async_wait(Socket::wait_write,
                                      [done](error_code error) { done(error, 0); });
    }));
    int error = 0;
    socklen_t bytes = sizeof(error);
    if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 || error != 0)
      return fail_errno("connecting", error ? error : errno);
    return {};
  }

  Result<> write() {
    std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n",
                                   call_.method, url_.target, url_.authority());
    for (const auto& [name, value] : call_.headers)
      head.append(name).append(": ").append(value).append("\r\n");
    if (!call_.body.empty() || (call_.method != "GET" && call_.method != "HEAD"))
      head += fmt::format("Content-Length: {}\r\n", call_.body.size());
    head += "\r\n";
    auto sent = wait("sending", [&](auto done) {
      transport_->write({asio::buffer(head), asio::buffer(call_.body)}, done);
    });
    if (sent || last_error_ == asio::error::timed_out ||
        last_error_ == asio::error::operation_aborted)
      return sent;
    write_error_ = last_error_;
    return {};
  }

  Result<HttpReply> read() {
    boost::beast::flat_buffer in;
    std::optional<Parser> parser;
    const auto begin = [&] {
      parser.emplace();
      parser->eager(true);
      parser->header_limit(kHeaderBytes);
      parser->body_limit(call_.reply_bytes);
      parser->skip(call_.method == "HEAD");
    };
    begin();
    while (!parser->is_done()) {
      error_code error = http::error::need_more;
      if (in.size() > 0) in.consume(parser->put(in.data(), error));
      if (error == http::error::body_limit)
        return fail(fmt::format("the reply has more than {} bytes", call_.reply_bytes));
      if (error && error != http::error::need_more) return problem("reading the reply", error);
      if (parser->is_done() && parser->get().result_int() < 200) {
        begin();  // 100 and the like come before the reply
        continue;
      }
      if (!error) continue;
      if (in.size() > kHeaderBytes + kReadBytes)
        return fail("the reply has a line that is too long");
      size_t count = 0;
      const auto got = wait("reading the reply", [&](auto done) {
        transport_->read_some(in.prepare(kReadBytes), [done, &count](error_code e, size_t bytes) {
          count = bytes;
          done(e, bytes);
        });
      });
      in.commit(count);
      if (got) continue;
      if (last_error_ != asio::error::eof) return tl::unexpected(got.error());
      if (!parser->got_some()) return fail("the connection ends without a reply");
      parser->put_eof(error);
      if (error) return fail("the reply ends too early");
    }
    HttpReply reply;
    auto message = parser->release();
    reply.status = static_cast<int>(message.result_int());
    for (const auto& field : message)
      reply.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    reply.body = std::move(message.body());
    return reply;
  }

  const HttpCall& call_;
  const Url url_;
  const Clock::time_point deadline_;
  asio::io_context context_{1};
  std::unique_ptr<Transport> transport_;
  error_code last_error_, write_error_;
};

// What would end a line, or the headers, before its time.
bool breaks_lines(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
}

}  // namespace

Result<HttpReply> http_send(const HttpCall& call) {
  Url url = TRY(parse_url(call.url));
  for (const auto& [name, value] : call.headers)
    if (name.empty() || name.find(':') != std::string::npos || breaks_lines(name) ||
        breaks_lines(value))
      return fail("a header of the request is not valid: '" + name + "'");
  if (call.method.empty() || breaks_lines(call.method) ||
      call.method.find(' ') != std::string::npos)
    return fail("the method of the request is not valid");
  // Without the query, which may hold secrets.
  const std::string where =
      fmt::format("{} {}", call.method, call.url.substr(0, call.url.find_first_of("?#")));
  try {  // Asio's exceptions end here: no descriptor left for its own needs
    auto reply = Exchange(call, std::move(url)).run();
    if (!reply) return tl::unexpected(reply.error().context(where));
    return reply;
  } catch (const std::exception& error) {
    return fail(where + ": " + error.what());
  }
}

}  // namespace jobscope
