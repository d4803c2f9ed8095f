#include "src/http/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <charconv>
#include <memory>
#include <optional>

namespace jobscope {
namespace {

constexpr const char* kForms =
    "addresses are HOST:PORT, :PORT, [IPv6]:PORT, unix:///PATH, fd://N or systemd";
constexpr mode_t kSocketMode = 0660;

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

tl::unexpected<Error> cannot_listen(const std::string& address, int code) {
  std::string hint;
  if (code == EADDRINUSE) hint = "another program listens there: choose another port or end it";
  if (code == EADDRNOTAVAIL) hint = "this machine has no such address";
  if (code == EACCES) hint = "ports below 1024 and folders of others need privileges";
  return fail_errno("cannot listen at " + address, code, hint);
}

// As the kernel has it; "" if it has none.
std::string bound_address(int fd) {
  sockaddr_storage name{};
  socklen_t bytes = sizeof(name);
  auto* any = reinterpret_cast<sockaddr*>(&name);
  if (::getsockname(fd, any, &bytes) != 0) return "";
  if (name.ss_family == AF_UNIX)
    return std::string("unix:") + reinterpret_cast<const sockaddr_un*>(&name)->sun_path;
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (::getnameinfo(any, bytes, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "";
  return name.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host, port)
                                    : fmt::format("{}:{}", host, port);
}

Result<Fd> open_socket(const std::string& address, const sockaddr* to, socklen_t bytes,
                       bool both_families) {
  Fd fd(::socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return cannot_listen(address, errno);
  const int on = 1, only_six = both_families ? 0 : 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (to->sa_family == AF_INET6)
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only_six, sizeof(only_six));
  if (::bind(fd.get(), to, bytes) != 0 || ::listen(fd.get(), SOMAXCONN) != 0)
    return cannot_listen(address, errno);
  return fd;
}

Result<Listener> listen_everywhere(const std::string& address, uint16_t port) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  auto fd = open_socket(address, reinterpret_cast<sockaddr*>(&six), sizeof(six), true);
  if (!fd && (fd.error().code == EAFNOSUPPORT || fd.error().code == EADDRNOTAVAIL)) {
    sockaddr_in four{};  // a machine without IPv6
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    fd = open_socket(address, reinterpret_cast<sockaddr*>(&four), sizeof(four), false);
  }
  if (!fd) return tl::unexpected(fd.error());
  std::string bound = bound_address(fd->get());
  return Listener(std::move(*fd), std::move(bound));
}

Result<Listener> listen_tcp(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos)
    return fail("cannot listen at '" + address + "': it has no port", kForms);
  const std::string port_text = address.substr(colon + 1);
  std::string host = address.substr(0, colon);
  const auto port = number<uint16_t>(port_text);
  if (!port)
    return fail(
        fmt::format("cannot listen at '{}': '{}' is no port (0 to 65535)", address, port_text),
        kForms);
  if (host.empty()) return listen_everywhere(address, *port);
  if (host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string::npos)
    return fail("cannot listen at '" + address + "': an IPv6 address goes in brackets",
                "write [" + host + "]:" + port_text);
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  if (const int error = ::getaddrinfo(host.c_str(), port_text.c_str(), &hints, &list))
    return fail(fmt::format("cannot listen at {}: {}", address, ::gai_strerror(error)),
                "give an address of this machine, or :" + port_text + " for all");
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> found(list, ::freeaddrinfo);
  const addrinfo* chosen = list;
  for (const addrinfo* one = list; one; one = one->ai_next) {
    if (one->ai_family != AF_INET) continue;
    chosen = one;
    break;
  }
  Fd fd = TRY(open_socket(address, chosen->ai_addr, chosen->ai_addrlen, false));
  std::string bound = bound_address(fd.get());
  return Listener(std::move(fd), std::move(bound));
}

// Removes a socket file that nobody listens at.
Result<> clear_socket_file(const std::string& path, const sockaddr_un& name) {
  struct stat file {};
  if (::lstat(path.c_str(), &file) != 0) return {};
  if (!S_ISSOCK(file.st_mode))
    return fail("cannot listen at unix:" + path + ": there is a file that is no socket",
                "remove it or choose another path");
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!probe) return cannot_listen("unix:" + path, errno);
  // EAGAIN: somebody listens, and many wait.
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0 ||
      errno == EAGAIN)
    return cannot_listen("unix:" + path, EADDRINUSE);
  if (errno != ECONNREFUSED) return cannot_listen("unix:" + path, errno);
  if (::unlink(path.c_str()) != 0) return cannot_listen("unix:" + path, errno);
  return {};
}

Result<Listener> take_passed(const PassedSockets& passed, int which) {
  const int fd = passed.first + which;
  const std::string address = fmt::format("fd://{}", which);
  int listens = 0;
  socklen_t bytes = sizeof(listens);
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0)
    return cannot_listen(address, errno);
  if (!listens)
    return fail("cannot listen at " + address + ": the socket does not listen",
                "the unit needs ListenStream= and Accept=no");
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);  // what we start must not inherit it
  Fd ours(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!ours) return cannot_listen(address, errno);
  ::fcntl(ours.get(), F_SETFL, ::fcntl(ours.get(), F_GETFL) | O_NONBLOCK);
  std::string bound = bound_address(ours.get());
  return Listener(std::move(ours), std::move(bound));
}

std::vector<Listener> only(Listener listener) {
  std::vector<Listener> one;
  one.push_back(std::move(listener));
  return one;
}

}  // namespace

PassedSockets passed_sockets(const char* listen_pid, const char* listen_fds, pid_t self) {
  PassedSockets passed;
  if (!listen_pid || !listen_fds || number<pid_t>(listen_pid) != self) return passed;
  passed.count = std::max(0, number<int>(listen_fds).value_or(0));
  return passed;
}

Listener::Listener(Listener&& other) noexcept
    : fd_(std::move(other.fd_)),
      address_(std::move(other.address_)),
      file_(std::exchange(other.file_, {})),
      device_(other.device_),
      inode_(other.inode_) {}

Listener::~Listener() {
  struct stat file {};
  if (file_.empty() || ::lstat(file_.c_str(), &file) != 0) return;
  if (file.st_dev == device_ && file.st_ino == inode_) ::unlink(file_.c_str());
}

Result<Listener> listen_unix(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(name.sun_path))
    return fail(fmt::format("cannot listen at 'unix:{}': a path has from 1 to {} bytes", path,
                            sizeof(name.sun_path) - 1),
                kForms);
  path.copy(name.sun_path, path.size());
  TRY(clear_socket_file(path, name));
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return cannot_listen("unix:" + path, errno);
  ::fchmod(fd.get(), kSocketMode);  // the file is never open to more, whatever the umask
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&name), sizeof(name)) != 0)
    return cannot_listen("unix:" + path, errno);
  Listener listener(std::move(fd), "unix:" + path);
  struct stat file {};
  if (::lstat(path.c_str(), &file) == 0) {
    listener.file_ = path;
    listener.device_ = file.st_dev;
    listener.inode_ = file.st_ino;
  }
  if (::chmod(path.c_str(), kSocketMode) != 0 || ::listen(listener.fd(), SOMAXCONN) != 0)
    return cannot_listen("unix:" + path, errno);
  return listener;
}

Result<std::vector<Listener>> open_listeners(const std::string& address,
                                             const PassedSockets& passed) {
  if (address.starts_with("unix://")) return only(TRY(listen_unix(address.substr(7))));
  if (address.starts_with("unix:")) return only(TRY(listen_unix(address.substr(5))));
  const std::string none = fmt::format(
      "cannot listen at '{}': {} socket(s) were passed to this process", address, passed.count);
  constexpr const char* kHint = "start it by a systemd socket unit, or give an address";
  if (address == "systemd") {
    if (passed.count == 0) return fail(none, kHint);
    std::vector<Listener> all;
    for (int i = 0; i < passed.count; ++i) all.push_back(TRY(take_passed(passed, i)));
    return all;
  }
  if (address.starts_with("fd://")) {
    const auto which = number<int>(std::string_view(address).substr(5));
    if (!which || *which < 0)
      return fail("cannot listen at '" + address + "': N of fd://N is a number from 0", kForms);
    if (*which >= passed.count) return fail(none, kHint);
    return only(TRY(take_passed(passed, *which)));
  }
  if (address.find("://") != std::string::npos)
    return fail("cannot listen at '" + address + "': this kind of address is not known", kForms);
  return only(TRY(listen_tcp(address)));
}

}  // namespace jobscope
