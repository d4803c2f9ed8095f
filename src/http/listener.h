// Addresses to serve at, and the sockets bound to them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "src/base/fd.h"
#include "src/base/result.h"

namespace jobscope {

// Sockets that a service manager opened for us (sd_listen_fds(3)).
struct PassedSockets {
  int first = 3;  // descriptor
  int count = 0;
};
// From $LISTEN_PID and $LISTEN_FDS (null: not set). None, if they are meant for another process.
PassedSockets passed_sockets(const char* listen_pid, const char* listen_fds, pid_t self);

// One listening socket, which does not block. A socket file that it made is removed with it.
class Listener {
 public:
  Listener(Fd fd, std::string address) : fd_(std::move(fd)), address_(std::move(address)) {}
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  int fd() const { return fd_.get(); }
  // As it is bound, with the port the kernel chose: "127.0.0.1:9435", "[::]:9435", "unix:/run/x".
  const std::string& address() const { return address_; }

 private:
  friend Result<Listener> listen_unix(const std::string& path);
  Fd fd_;
  std::string address_;
  std::string file_;  // the socket file we made; empty: none
  dev_t device_ = 0;  // and which file that is, for another may have taken its name
  ino_t inode_ = 0;
};

// Opens what an address stands for:
//  - "HOST:PORT", "[::1]:9435": one address; a name is resolved, IPv4 before IPv6;
//  - ":9435": all interfaces, IPv4 and IPv6;
//  - "unix:///run/x.sock", "unix:/run/x.sock": a socket file of mode 0660. One that nobody listens
//    at any more is replaced;
//  - "fd://N": the N-th passed socket, from 0 (as ebpf_exporter); "systemd": all of them.
Result<std::vector<Listener>> open_listeners(const std::string& address,
                                             const PassedSockets& passed);

}  // namespace jobscope
