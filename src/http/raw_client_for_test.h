// A client that sends bytes as they are, whatever HTTP says of them.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <charconv>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "src/base/fd.h"
#include "src/http/gzip.h"
#include "src/http/server.h"

namespace jobscope {

// So long at most until what must come has come: a test that fails waits so long, no other.
constexpr std::chrono::seconds kPatience{30};

// Whether `condition` comes to hold.
inline bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// One response that was read off a connection.
struct RawResponse {
  int status = 0;
  std::string head, body;  // the head with its empty line

  std::string header(const std::string& name) const {
    const size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const size_t begin = at + 2 + name.size() + 2;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

class RawClient {
 public:
  RawClient() = default;
  // "127.0.0.1:PORT", "[::1]:PORT" or "unix:PATH".
  explicit RawClient(const std::string& address) {
    sockaddr_storage name{};
    socklen_t bytes = 0;
    if (address.starts_with("unix:")) {
      auto* file = reinterpret_cast<sockaddr_un*>(&name);
      file->sun_family = AF_UNIX;
      address.copy(file->sun_path, sizeof(file->sun_path) - 1, 5);
      bytes = sizeof(*file);
    } else {
      const size_t colon = address.rfind(':');
      const auto port = htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
      if (address.front() == '[') {
        auto* six = reinterpret_cast<sockaddr_in6*>(&name);
        *six = {AF_INET6, port, 0, in6addr_loopback, 0};
        bytes = sizeof(*six);
      } else {
        auto* four = reinterpret_cast<sockaddr_in*>(&name);
        four->sin_family = AF_INET;
        four->sin_port = port;
        four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        bytes = sizeof(*four);
      }
    }
    fd_ = Fd(::socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(fd_.get(), reinterpret_cast<sockaddr*>(&name), bytes) != 0) fd_.reset();
  }

  bool connected() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }
  void close() { fd_.reset(); }
  void half_close() { ::shutdown(fd_.get(), SHUT_WR); }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  void get(const std::string& path, const std::string& headers = "") {
    send("GET " + path + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n");
  }

  // More bytes; false at the end, or when none come.
  bool more() {
    pollfd poll{fd_.get(), POLLIN, 0};
    const auto wait = std::chrono::milliseconds(kPatience).count();
    if (::poll(&poll, 1, static_cast<int>(wait)) != 1) return false;
    char bytes[65536];
    const ssize_t got = ::recv(fd_.get(), bytes, sizeof(bytes), 0);
    if (got <= 0) return false;
    in_.append(bytes, static_cast<size_t>(got));
    return true;
  }

  // The next response; status 0 if the connection ends first.
  RawResponse response(bool head_only = false) {
    RawResponse r;
    size_t end = 0;
    while ((end = in_.find("\r\n\r\n")) == std::string::npos)
      if (!more()) return r;
    r.head = in_.substr(0, end + 4);
    in_.erase(0, end + 4);
    const int status = std::stoi(r.head.substr(9, 3));
    const std::string length = r.header("Content-Length");
    const size_t bytes = length.empty() || head_only ? 0 : std::stoul(length);
    while (in_.size() < bytes)
      if (!more()) return r;
    r.body = in_.substr(0, bytes);
    in_.erase(0, bytes);
    r.status = status;
    return r;
  }

  // Whether the server closes, having sent nothing more.
  bool ended() {
    while (more()) {
    }
    pollfd poll{fd_.get(), POLLIN, 0};
    return ::poll(&poll, 1, 0) == 1 && in_.empty();
  }
  std::string rest() {
    while (more()) {
    }
    return std::exchange(in_, {});
  }

 private:
  Fd fd_;
  std::string in_;
};

}  // namespace jobscope
