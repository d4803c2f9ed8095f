#include "src/http/server.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <thread>

#include "src/base/thread.h"
#include "src/http/connection.h"
#include "src/http/server_core.h"
#include "src/http/transport.h"

namespace jobscope {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr int kAcceptsAtOnce = 64;
constexpr std::string_view kTooMany =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n"
    "Content-Length: 21\r\nRetry-After: 1\r\nConnection: close\r\n\r\ntoo many connections\n";

// Takes the clients of one listening socket.
class Acceptor {
 public:
  Acceptor(ServerCore& core, Listener listener)
      : core_(core),
        listener_(std::move(listener)),
        watch_(core.context, listener_.fd()),
        pause_(core.context) {}
  ~Acceptor() { watch_.release(); }

  const std::string& address() const { return listener_.address(); }

  void wait() {
    watch_.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code error) {
      if (!error && !core_.stopping) accept();
    });
  }

  void stop() {
    watch_.cancel();
    pause_.cancel();
  }

 private:
  void accept() {
    for (int i = 0; i < kAcceptsAtOnce; ++i) {
      const int fd = ::accept4(listener_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0) {
        try {  // no memory: the one connection is lost
          take(Fd(fd));
        } catch (const std::exception& error) {
          core_.count(&ServerCounters::accept_failures);
          core_.log("cannot take a connection at " + address() + ": " + error.what());
        }
        continue;
      }
      const int error = errno;
      if (error == EAGAIN || error == EWOULDBLOCK) break;
      if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM)
        return pause(error);
      // Others are of the one connection (accept(2)): gone before it was taken.
    }
    wait();
  }

  // Nothing left to hold a connection with. Those that wait are taken later.
  void pause(int error) {
    core_.count(&ServerCounters::accept_failures);
    core_.log("cannot take connections at " + address() + ": " + std::strerror(error));
    core_.evict_idle();
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this](error_code stopped) {
      if (!stopped && !core_.stopping) accept();
    });
  }

  void take(Fd fd) {
    if (core_.connections.size() >= core_.options.connections && !core_.evict_idle())
      return refuse(fd);
    std::optional<TlsContext> tls;
    if (core_.options.web && core_.options.web->tls()) {
      const auto policy = core_.options.web->current();
      if (!policy) return core_.count(&ServerCounters::handshake_failures);
      tls = (*policy)->tls;
    }
    Socket socket = adopt_socket(core_.context, fd.release());
    std::unique_ptr<Transport> transport;
    if (tls) {
      auto made = tls_transport(std::move(socket), *tls, Side::server);
      if (!made) return core_.count(&ServerCounters::handshake_failures);
      transport = std::move(*made);
    } else {
      transport = plain_transport(std::move(socket));
    }
    core_.count(&ServerCounters::accepted);
    core_.count(&ServerCounters::open);
    auto connection = std::make_shared<Connection>(core_, std::move(transport));
    core_.connections.insert(connection);
    connection->start(tls.has_value());
  }

  void refuse(const Fd& fd) {
    core_.count(&ServerCounters::refused);
    core_.log("there are " + std::to_string(core_.connections.size()) +
              " connections, the most allowed: further ones are refused");
    if (core_.options.web && core_.options.web->tls()) return;
    char request[4096];  // unread, it would reset the connection, and the answer be lost
    (void)::recv(fd.get(), request, sizeof(request), MSG_DONTWAIT);
    (void)::send(fd.get(), kTooMany.data(), kTooMany.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    ::shutdown(fd.get(), SHUT_WR);
  }

  ServerCore& core_;
  Listener listener_;
  asio::posix::stream_descriptor watch_;
  asio::steady_timer pause_;
};

}  // namespace

const Route* ServerCore::find(const std::string& path) const {
  for (const Route& route : routes) {
    const bool folder = route.path.size() > 1 && route.path.back() == '/';
    if (route.path == path || (folder && path.starts_with(route.path))) return &route;
  }
  return nullptr;
}

bool ServerCore::evict_idle() {
  const auto now = Connection::Clock::now();
  std::shared_ptr<Connection> oldest;
  auto since = now - options.evict_time;
  for (const auto& connection : connections) {
    const auto idle = connection->idle_since();
    if (!idle || *idle > since) continue;
    since = *idle;
    oldest = connection;
  }
  if (!oldest) return false;
  oldest->close();
  count(&ServerCounters::evicted);
  return true;
}

void ServerCore::remove(const std::shared_ptr<Connection>& connection) {
  if (connections.erase(connection) == 0) return;
  if (stopping && connections.empty()) stop_timer.cancel();
  const std::lock_guard lock(counters_mutex);
  --counters.open;
}

struct HttpServer::Impl {
  explicit Impl(ServerOptions options) : core(std::move(options)) {}

  void run();
  void begin_stop();

  ServerCore core;
  std::vector<std::unique_ptr<Acceptor>> acceptors;
  std::vector<std::string> addresses;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  std::thread loop;
  std::mutex stopping;
};

void HttpServer::Impl::run() {
  for (;;) {
    try {  // no memory, or a library's surprise: it ends one operation, not the server
      core.context.run();
      return;
    } catch (const std::exception& error) {
      core.log(std::string("the HTTP server goes on after: ") + error.what());
    }
  }
}

void HttpServer::Impl::begin_stop() {
  core.stopping = true;
  for (const auto& acceptor : acceptors) acceptor->stop();
  const auto connections = core.connections;  // closing takes them out of the original
  for (const auto& connection : connections) connection->stop();
  work.reset();
  if (core.connections.empty()) return;
  core.stop_timer.expires_after(core.options.stop_time);
  core.stop_timer.async_wait([this](error_code) {
    const auto late = core.connections;
    for (const auto& connection : late) connection->close();
  });
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() { stop(); }

Result<std::unique_ptr<HttpServer>> HttpServer::listen(ServerOptions options) {
  if (options.addresses.empty())
    return fail("the HTTP server has no address to listen at", "give one, as :9435");
  try {  // Asio's exceptions end here: no descriptor left for its own needs
    return open(std::move(options));
  } catch (const std::exception& error) {
    return fail(std::string("cannot open the HTTP server: ") + error.what());
  }
}

Result<std::unique_ptr<HttpServer>> HttpServer::open(ServerOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  for (const std::string& address : impl->core.options.addresses) {
    for (Listener& listener : TRY(open_listeners(address, impl->core.options.passed))) {
      impl->addresses.push_back(listener.address());
      impl->acceptors.push_back(std::make_unique<Acceptor>(impl->core, std::move(listener)));
    }
  }
  impl->core.auth_lane =
      impl->core.workers.add_lane(std::max<size_t>(1, impl->core.options.threads / 2));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

void HttpServer::route(std::string path, HttpHandler handler, std::vector<std::string> methods) {
  auto& routes = impl_->core.routes;
  Route route{std::move(path), std::move(handler), std::move(methods), 0};
  route.lane = impl_->core.workers.add_lane(impl_->core.options.threads_per_route);
  const auto place = std::find_if(routes.begin(), routes.end(), [&](const Route& other) {
    return other.path.size() < route.path.size();
  });
  routes.insert(place, std::move(route));
}

void HttpServer::start() {
  impl_->work.emplace(asio::make_work_guard(impl_->core.context));
  impl_->core.workers.start(impl_->core.options.threads);
  for (const auto& acceptor : impl_->acceptors) acceptor->wait();
  impl_->loop = start_thread("http", [impl = impl_.get()] { impl->run(); });
}

void HttpServer::stop() {
  const std::lock_guard lock(impl_->stopping);
  if (impl_->loop.joinable()) {
    asio::post(impl_->core.context, [impl = impl_.get()] { impl->begin_stop(); });
    impl_->loop.join();
  }
  impl_->core.workers.stop();
  impl_->acceptors.clear();
}

const std::vector<std::string>& HttpServer::addresses() const { return impl_->addresses; }

ServerCounters HttpServer::counters() const {
  const std::lock_guard lock(impl_->core.counters_mutex);
  return impl_->core.counters;
}

}  // namespace jobscope
