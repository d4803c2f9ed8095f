#include "src/base/notify.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>

#include "src/base/fd.h"

namespace jobscope {
namespace {

// Receives as a service manager does.
std::string received(const std::string& address, std::string_view message) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  address.copy(name.sun_path, sizeof(name.sun_path) - 1);
  if (address[0] == '@') name.sun_path[0] = '\0';
  const Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&name), bytes) != 0) return "no socket";
  const auto sent = notify_service_manager(address, message);
  if (!sent) return sent.error().what;
  char text[256];
  const ssize_t got = ::recv(fd.get(), text, sizeof(text), 0);
  return {text, got < 0 ? 0 : static_cast<size_t>(got)};
}

TEST(Notify, by_path_and_by_abstract_name) {
  const std::string path = ::testing::TempDir() + "/notify." + std::to_string(::getpid());
  EXPECT_EQ(received(path, "READY=1\nSTATUS=serving"), "READY=1\nSTATUS=serving");
  ::unlink(path.c_str());
  EXPECT_EQ(received("@jobscope-test/" + std::to_string(::getpid()), "STOPPING=1"), "STOPPING=1");
}

TEST(Notify, nobody_asked_or_nobody_there) {
  EXPECT_TRUE(notify_service_manager("", "READY=1"));
  EXPECT_FALSE(notify_service_manager("relative", "READY=1"));
  EXPECT_FALSE(notify_service_manager("/" + std::string(200, 'x'), "READY=1"));
  const auto none = notify_service_manager("/no/such/socket", "READY=1");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ENOENT);
}

}  // namespace
}  // namespace jobscope
