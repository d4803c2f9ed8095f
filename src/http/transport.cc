#include "src/http/transport.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

namespace jobscope {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

class PlainTransport : public Transport {
 public:
  explicit PlainTransport(Socket socket) : socket_(std::move(socket)) {}

  void handshake(Done done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done({}, 0); });
  }
  void read_some(asio::mutable_buffer into, Done done) override {
    socket_.async_read_some(into, std::move(done));
  }
  void write(std::array<asio::const_buffer, 2> parts, Done done) override {
    asio::async_write(socket_, parts, std::move(done));
  }
  void shutdown(Done done) override {
    error_code error;
    socket_.shutdown(Socket::shutdown_send, error);
    asio::post(socket_.get_executor(), [done = std::move(done), error] { done(error, 0); });
  }
  Socket& socket() override { return socket_; }

 private:
  Socket socket_;
};

class TlsTransport : public Transport {
 public:
  TlsTransport(Socket socket, std::shared_ptr<ssl_ctx_st> context, Side side)
      : context_(std::move(context)), side_(side), stream_(std::move(socket), borrow()) {}

  Result<> expect_host(const std::string& host) {
    SSL* ssl = stream_.native_handle();
    in6_addr address{};
    const bool numeric = ::inet_pton(AF_INET, host.c_str(), &address) == 1 ||
                         ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
    if (numeric) {
      if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1) return {};
    } else {
      SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
      if (SSL_set1_host(ssl, host.c_str()) == 1 && SSL_set_tlsext_host_name(ssl, host.c_str()) == 1)
        return {};
    }
    return fail("TLS: no certificate can be for the host '" + host + "'");
  }

  void handshake(Done done) override {
    stream_.async_handshake(
        side_ == Side::server ? asio::ssl::stream_base::server : asio::ssl::stream_base::client,
        [done = std::move(done)](error_code error) { done(error, 0); });
  }
  void read_some(asio::mutable_buffer into, Done done) override {
    stream_.async_read_some(into, std::move(done));
  }
  void write(std::array<asio::const_buffer, 2> parts, Done done) override {
    asio::async_write(stream_, parts, std::move(done));
  }
  void shutdown(Done done) override {
    stream_.async_shutdown([done = std::move(done)](error_code error) { done(error, 0); });
  }
  Socket& socket() override { return stream_.next_layer(); }

 private:
  // Asio wants a context of its own type, and only to make the SSL object.
  asio::ssl::context& borrow() {
    SSL_CTX_up_ref(context_.get());
    borrowed_ = std::make_unique<asio::ssl::context>(context_.get());
    return *borrowed_;
  }

  std::shared_ptr<ssl_ctx_st> context_;  // and what its callbacks need
  std::unique_ptr<asio::ssl::context> borrowed_;
  Side side_;
  asio::ssl::stream<Socket> stream_;
};

}  // namespace

void Transport::close() {
  error_code ignored;  // it is gone either way
  socket().close(ignored);
}

std::unique_ptr<Transport> plain_transport(Socket socket) {
  return std::make_unique<PlainTransport>(std::move(socket));
}

Result<std::unique_ptr<Transport>> tls_transport(Socket socket,
                                                 const std::shared_ptr<ssl_ctx_st>& context,
                                                 Side side, const std::string& host) {
  auto transport = std::make_unique<TlsTransport>(std::move(socket), context, side);
  if (side == Side::client) TRY(transport->expect_host(host));
  return transport;
}

bool is_plain_http(const error_code& error) {
  return error.category() == asio::error::get_ssl_category() &&
         ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_HTTP_REQUEST;
}

Socket adopt_socket(asio::io_context& context, int fd) {
  sockaddr_storage name{};
  socklen_t bytes = sizeof(name);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &bytes);
  Socket socket(context);
  error_code error;
  socket.assign(asio::generic::stream_protocol(name.ss_family, 0), fd, error);
  if (error) ::close(fd);
  return socket;
}

}  // namespace jobscope
