#include "src/http/connection.h"
#include "src/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http/error.hpp>

#include "src/http/response_writer.h"

namespace jobscope {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr size_t kReadBytes = 8192;
constexpr size_t kMostDrained = 256 << 10;
constexpr std::chrono::milliseconds kLinger{1000};
constexpr size_t kLongestMethod = 32;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view kNeedsTls =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: "
    "close\r\n\r\nThis server speaks HTTPS: write https:// in the address.\n";

// RFC 9110, 5.6.2: what names of methods are made of.
// Empty also if it has a NUL in it.
std::optional<std::string> decoded_path(std::string_view text) {
  return text.find("%00") == std::string_view::npos ? percent_decoded(text) : std::nullopt;
}

bool is_token(char c) {
  return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

}  // namespace

Connection::Connection(ServerCore& core, std::unique_ptr<Transport> transport)
    : core_(core), transport_(std::move(transport)), timer_(core.context) {}

void Connection::start(bool tls) {
  if (!tls) return await_request();
  arm(core_.options.handshake_time);
  transport_->handshake([self = shared_from_this()](ErrorCode error, size_t) {
    if (self->phase_ != Phase::handshake) return;
    if (!error) return self->await_request();
    self->core_.count(&ServerCounters::handshake_failures);
    if (is_plain_http(error)) {
      self->transport_->socket().write_some(asio::buffer(kNeedsTls), error);
      self->core_.count(&ServerCounters::bad_requests);
    }
    self->close();
  });
}

void Connection::close() {
  if (phase_ == Phase::closed) return;
  phase_ = Phase::closed;
  closed_ = true;
  disarm();
  transport_->close();
  core_.remove(shared_from_this());
}

void Connection::stop() {
  if (phase_ != Phase::body && phase_ != Phase::working && phase_ != Phase::responding) close();
}

std::optional<Connection::Clock::time_point> Connection::idle_since() const {
  if (phase_ != Phase::idle) return std::nullopt;
  return idle_since_;
}

void Connection::arm(std::chrono::milliseconds time) {
  timer_.expires_after(time);
  timer_.async_wait([self = shared_from_this(), mine = ++timer_generation_](ErrorCode error) {
    if (!error && mine == self->timer_generation_) self->on_timeout();
  });
}

void Connection::disarm() {
  ++timer_generation_;
  timer_.cancel();
}

void Connection::on_timeout() {
  const bool asked = phase_ == Phase::header || phase_ == Phase::body;
  if (phase_ == Phase::idle && !first_)
    core_.count(&ServerCounters::idle_closed);
  else if (phase_ != Phase::closing)
    core_.count(&ServerCounters::timed_out);
  if (!asked || continuing_) return close();
  ErrorCode ignored;
  transport_->socket().cancel(ignored);  // the read; on_read() sees that the phase is another
  refuse(408, "the request did not come in time");
}

void Connection::await_request() {
  phase_ = Phase::idle;
  idle_since_ = Clock::now();
  line_done_ = header_done_ = false;
  route_ = nullptr;
  head_only_ = false;
  request_ = {};
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(core_.options.header_bytes));
  parser_->body_limit(core_.options.body_bytes);
  arm(first_ ? core_.options.header_time : core_.options.idle_time);
  parse();
}

void Connection::read() {
  if (in_.size() > core_.options.header_bytes + kReadBytes)  // a chunk's header without end
    return refuse(header_done_ ? 400 : 431, "a line of the request is too long");
  transport_->read_some(
      in_.prepare(kReadBytes),
      [self = shared_from_this()](ErrorCode error, size_t bytes) { self->on_read(error, bytes); });
}

void Connection::on_read(ErrorCode error, size_t bytes) {
  if (phase_ != Phase::idle && phase_ != Phase::header && phase_ != Phase::body) return;
  core_.count(&ServerCounters::received_bytes, bytes);
  in_.commit(bytes);
  if (error) {
    if (phase_ != Phase::idle) core_.count(&ServerCounters::aborted);
    return close();
  }
  parse();
}

// RFC 9112, 2.2: empty lines before a request are ignored.
bool Connection::skip_empty_lines() {
  const auto bytes = [&] { return static_cast<const char*>(in_.data().data()); };
  while (in_.size() > 0 && (bytes()[0] == '\r' || bytes()[0] == '\n')) in_.consume(1);
  return in_.size() > 0;
}

bool Connection::looks_like_http() const {
  const std::string_view text(static_cast<const char*>(in_.data().data()),
                              std::min(in_.size(), kLongestMethod));
  const size_t end = text.find(' ');
  const std::string_view method = text.substr(0, end);
  return end != 0 && std::all_of(method.begin(), method.end(), is_token) &&
         (end != std::string_view::npos || text.size() < kLongestMethod);
}

void Connection::parse() {
  for (;;) {
    if (phase_ == Phase::idle) {
      if (!skip_empty_lines()) return read();
      phase_ = Phase::header;
      if (!first_) arm(core_.options.header_time);
    }
    if (in_.size() == 0) return read();
    ErrorCode error;
    const size_t taken = parser_->put(in_.data(), error);
    const bool whole_header = parser_->is_header_done();
    if (error == http::error::need_more && taken == 0 && !line_done_ && !looks_like_http())
      return refuse(400, "this is not HTTP");
    line_done_ = line_done_ || taken > 0;
    in_.consume(taken);
    if (error == http::error::need_more) return read();
    if (error) return on_parse_error(error);
    if (!header_done_ && whole_header) {
      header_done_ = true;
      return on_header();
    }
    if (parser_->is_done()) return on_request();
  }
}

void Connection::on_parse_error(ErrorCode error) {
  if (error == http::error::header_limit) return refuse(431, "the headers are too large");
  if (error == http::error::body_limit) return refuse(413, "the body is too large");
  refuse(400, "bad request: " + error.message());
}

void Connection::on_header() {
  disarm();
  phase_ = Phase::working;
  first_ = false;
  const auto& message = parser_->get();
  request_.method = std::string(message.method_string());
  head_only_ = request_.method == "HEAD";
  if (head_only_) request_.method = "GET";
  size_t hosts = 0;
  for (const auto& field : message) {
    request_.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    hosts += field.name() == http::field::host;
  }
  if (!read_target()) return refuse(400, "the path is not valid");
  if (hosts > 1 || (hosts == 0 && message.version() >= 11))
    return refuse(400, "there must be one Host header");
  if (!core_.options.web) return choose_route();
  auto policy = core_.options.web->current();
  if (!policy) return refuse(500, "the server's web configuration is broken: see its log");
  policy_ = std::move(*policy);
  if (!core_.options.web->allow(*policy_)) return refuse(429, "too many requests: try later");
  authenticate();
}

bool Connection::read_target() {
  const auto whole = parser_->get().target();
  std::string_view target(whole.data(), whole.size());
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!equal_without_case(target.substr(0, scheme.size()), scheme)) continue;
    const size_t slash = target.find_first_of("/?", scheme.size());
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
    break;
  }
  target = target.substr(0, target.find('#'));
  const size_t question = target.find('?');
  if (question != std::string_view::npos) request_.query = std::string(target.substr(question + 1));
  auto path = decoded_path(target.substr(0, question));
  if (!path) return false;
  request_.path = path->empty() ? "/" : std::move(*path);
  return request_.path.front() == '/' || request_.path == "*";
}

void Connection::authenticate() {
  const std::string authorization = request_.header("Authorization");
  if (const auto known = policy_->auth.check_quickly(authorization)) return on_authorized(*known);
  core_.workers.submit(core_.auth_lane, [self = shared_from_this(), authorization,
                                         guard = asio::make_work_guard(core_.context)] {
    const bool authorized = !self->closed_ && self->policy_->auth.check(authorization);
    asio::post(self->core_.context, [self, authorized] { self->on_authorized(authorized); });
  });
}

void Connection::on_authorized(bool authorized) {
  if (phase_ == Phase::closed) return;
  if (authorized) return choose_route();
  refuse(401, "a user and a password are needed",
         {{"WWW-Authenticate", "Basic realm=\"jobscope\", charset=\"UTF-8\""}});
}

void Connection::choose_route() {
  route_ = core_.find(request_.path);
  if (!route_) {
    std::string known;
    for (const Route& route : core_.routes) known = "\n" + route.path + known;
    return refuse(404, "there is nothing here; there is:" + known);
  }
  const auto& methods = route_->methods;
  if (std::find(methods.begin(), methods.end(), request_.method) == methods.end()) {
    std::string allow;
    for (const std::string& method : methods)
      allow += (allow.empty() ? "" : ", ") + method + (method == "GET" ? ", HEAD" : "");
    return refuse(405, "this path takes " + allow, {{"Allow", allow}});
  }
  if (parser_->is_done()) return on_request();
  if (request_.method == "GET") {
    const size_t most = std::min(core_.options.header_bytes, core_.options.body_bytes);
    if (parser_->content_length().value_or(0) > most)
      return refuse(413, "the body is too large for a GET");
    parser_->body_limit(most);
  }
  const std::string expect = request_.header("Expect");
  if (!expect.empty() && !equal_without_case(expect, "100-continue"))
    return refuse(417, "only 100-continue can be expected");
  phase_ = Phase::body;
  parser_->eager(true);
  arm(core_.options.body_time);
  if (expect.empty() || parser_->get().version() < 11 || in_.size() > 0) return parse();
  core_.count(&ServerCounters::sent_bytes, kContinue.size());
  continuing_ = true;
  transport_->write({asio::buffer(kContinue), {}},
                    [self = shared_from_this()](ErrorCode error, size_t) {
                      self->continuing_ = false;
                      if (self->phase_ != Phase::body) return;
                      if (error) return self->close();
                      self->parse();
                    });
}

void Connection::on_request() {
  disarm();
  phase_ = Phase::working;
  request_.body = std::move(parser_->get().body());
  core_.workers.submit(route_->lane, [self = shared_from_this(),
                                      request = std::make_shared<HttpRequest>(std::move(request_)),
                                      guard = asio::make_work_guard(core_.context)] {
    if (!self->closed_) self->run_handler(*request);
  });
}

// On a thread of the workers. Nothing that it reads of the connection changes meanwhile.
void Connection::run_handler(const HttpRequest& request) {
  auto response = std::make_shared<HttpResponse>();
  std::string failure;
  try {
    *response = route_->handler(request);
    compress_response(*response, request.header("Accept-Encoding"), core_.options.gzip_bytes,
                      core_.options.gzip_level);
  } catch (const std::exception& error) {
    failure = error.what();
  } catch (...) {
    failure = "an unknown exception";
  }
  if (!failure.empty()) {
    core_.count(&ServerCounters::handler_failures);
    core_.log(fmt::format("{} {} failed: {}", request.method, request.path, failure));
    *response = plain_response(500, "this failed: see the server's log");
  }
  asio::post(core_.context, [self = shared_from_this(), response] {
    if (self->phase_ == Phase::closed) return;
    self->respond(std::move(*response), self->parser_->keep_alive());
  });
}

void Connection::refuse(int status, std::string text, HttpHeaders headers) {
  if (status == 400) core_.count(&ServerCounters::bad_requests);
  if (status == 401) core_.count(&ServerCounters::unauthorized);
  if (status == 413 || status == 431) core_.count(&ServerCounters::too_large);
  if (status == 429) core_.count(&ServerCounters::rate_limited);
  HttpResponse response = plain_response(status, std::move(text));
  response.headers = std::move(headers);
  // What is left of a request that was not read to its end cannot be told from the next one.
  const bool whole = header_done_ && parser_->is_done() && status != 400;
  respond(std::move(response), whole && parser_->keep_alive());
}

void Connection::respond(HttpResponse response, bool keep_alive) {
  phase_ = Phase::responding;
  arm(core_.options.response_time);
  keep_alive = keep_alive && !core_.stopping;
  HeadOptions options;
  options.keep_alive = keep_alive;
  options.old_client = header_done_ && parser_->get().version() < 11;
  options.more = policy_ ? &policy_->settings.headers : nullptr;
  options.now = std::time(nullptr);
  out_head_ = response_head(response, options);
  out_body_ = head_only_ || !may_have_body(response.status) ? "" : std::move(response.body);
  core_.count_response(response.status);
  transport_->write({asio::buffer(out_head_), asio::buffer(out_body_)},
                    [self = shared_from_this(), keep_alive](ErrorCode error, size_t bytes) {
                      self->on_written(error, bytes, keep_alive);
                    });
}

void Connection::on_written(ErrorCode error, size_t bytes, bool keep_alive) {
  core_.count(&ServerCounters::sent_bytes, bytes);
  if (phase_ == Phase::closed) return;
  if (error) {
    core_.count(&ServerCounters::aborted);
    return close();
  }
  out_body_ = {};
  if (!keep_alive || core_.stopping) return linger();
  if (in_.size() == 0) in_.shrink_to_fit();
  first_ = false;
  await_request();
}

// A socket that is closed with bytes unread resets the connection, and the client may lose the
// response: so what it still sends is read for a moment.
void Connection::linger() {
  phase_ = Phase::closing;
  arm(kLinger);
  in_.clear();
  drained_ = 0;
  transport_->shutdown([self = shared_from_this()](ErrorCode error, size_t) {
    if (error) return self->close();
    self->drain();
  });
}

void Connection::drain() {
  if (phase_ != Phase::closing) return;
  if (drained_ > kMostDrained) return close();
  in_.clear();
  transport_->socket().async_read_some(in_.prepare(kReadBytes),
                                       [self = shared_from_this()](ErrorCode error, size_t bytes) {
                                         if (error) return self->close();
                                         self->drained_ += bytes;
                                         self->drain();
                                       });
}

}  // namespace jobscope
