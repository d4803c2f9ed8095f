// One connection's bytes, with TLS or without. Only for the .cc files of this folder: it brings
// Asio with it.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <functional>
#include <memory>
#include <string>

#include "src/base/result.h"

struct ssl_ctx_st;

namespace jobscope {

using Socket = boost::asio::generic::stream_protocol::socket;

// All calls on the thread of its io_context. One operation of each kind at a time; whoever starts
// one keeps the transport and the buffers until `done` is called.
class Transport {
 public:
  using Done = std::function<void(boost::system::error_code, size_t)>;

  virtual ~Transport() = default;
  virtual void handshake(Done done) = 0;  // nothing without TLS
  virtual void read_some(boost::asio::mutable_buffer into, Done done) = 0;
  // All of both.
  virtual void write(std::array<boost::asio::const_buffer, 2> parts, Done done) = 0;
  // Tells the other side that no more will come.
  virtual void shutdown(Done done) = 0;
  // The socket below: to be read without TLS, closed, asked for its address.
  virtual Socket& socket() = 0;
  void close();
};

enum class Side { server, client };

std::unique_ptr<Transport> plain_transport(Socket socket);
// `host`: of a client, the name that the other side's certificate must have.
Result<std::unique_ptr<Transport>> tls_transport(Socket socket,
                                                 const std::shared_ptr<ssl_ctx_st>& context,
                                                 Side side, const std::string& host = {});

// Whether a handshake failed because the other side speaks HTTP without TLS.
bool is_plain_http(const boost::system::error_code& error);

// A socket of this context for a connected descriptor of any family, which it then owns.
Socket adopt_socket(boost::asio::io_context& context, int fd);

}  // namespace jobscope
