#include "src/base/notify.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>

#include "src/base/fd.h"

namespace jobscope {

Result<> notify_service_manager(const std::string& socket, std::string_view message) {
  if (socket.empty()) return {};
  const std::string what = "cannot tell the service manager at " + socket;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (socket[0] != '/' && socket[0] != '@')
    return fail(what + ": it is neither a path nor @name", "see NOTIFY_SOCKET in sd_notify(3)");
  if (socket.size() >= sizeof(name.sun_path)) return fail_errno(what, ENAMETOOLONG);
  socket.copy(name.sun_path, socket.size());
  if (socket[0] == '@') name.sun_path[0] = '\0';
  // The length counts: in the abstract namespace, zero bytes are part of the name.
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket.size());
  const Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno(what);
  const ssize_t sent =
      ::sendto(fd.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
               reinterpret_cast<const sockaddr*>(&name), bytes);
  if (sent < 0) return fail_errno(what);
  return {};
}

}  // namespace jobscope
