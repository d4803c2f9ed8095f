#include "src/http/listener.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "src/http/certificate_for_test.h"
#include "src/http/raw_client_for_test.h"

namespace jobscope {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string bound(const std::string& address) {
  const auto listeners = open_listeners(address, {});
  return listeners ? (*listeners)[0].address() : listeners.error().what;
}

TEST(Listener, addresses) {
  EXPECT_THAT(bound("127.0.0.1:0"), StartsWith("127.0.0.1:"));
  EXPECT_THAT(bound("localhost:0"), StartsWith("127.0.0.1:"));
  EXPECT_THAT(bound("[::1]:0"), ::testing::AnyOf(StartsWith("[::1]:"), HasSubstr("cannot assign"),
                                                 HasSubstr("Cannot assign")));
  EXPECT_THAT(bound(":0"), ::testing::AnyOf(StartsWith("[::]:"), StartsWith("0.0.0.0:")));
}

TEST(Listener, all_interfaces_take_ipv4_too) {
  const auto listeners = open_listeners(":0", {});
  ASSERT_TRUE(listeners) << listeners.error().what;
  const std::string& address = (*listeners)[0].address();
  EXPECT_TRUE(RawClient("127.0.0.1" + address.substr(address.rfind(':'))).connected());
}

TEST(Listener, wrong_addresses) {
  for (const char* bad : {"", "9435", "localhost", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536",
                          "::1:9435", "no-such-host.invalid:1", "unix:", "tcp://1.2.3.4:5",
                          "fd://0", "fd://x", "systemd", "192.0.2.1:0"}) {
    const auto listeners = open_listeners(bad, {});
    ASSERT_FALSE(listeners) << bad;
    EXPECT_THAT(listeners.error().what, StartsWith("cannot listen at ")) << bad;
    EXPECT_FALSE(listeners.error().hint.empty()) << bad;
    EXPECT_EQ(listeners.error().what.find('\n'), std::string::npos);
  }
}

TEST(Listener, a_port_in_use) {
  const std::string taken_by_other = "another program";
  const auto first = open_listeners("127.0.0.1:0", {});
  ASSERT_TRUE(first);
  const auto second = open_listeners((*first)[0].address(), {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, EADDRINUSE);
  EXPECT_THAT(second.error().hint, HasSubstr(taken_by_other));
}

TEST(Listener, socket_files) {
  const TestFolder folder;
  const std::string path = folder.path("s.sock");
  {
    const auto first = open_listeners("unix://" + path, {});
    ASSERT_TRUE(first) << first.error().what;
    struct stat file {};
    ASSERT_EQ(::stat(path.c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777, 0660U);
    EXPECT_TRUE(RawClient("unix:" + path).connected());
    const auto second = open_listeners("unix:" + path, {});
    ASSERT_FALSE(second);  // for the first one lives
    EXPECT_EQ(second.error().code, EADDRINUSE);
    EXPECT_TRUE(RawClient("unix:" + path).connected());
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST(Listener, a_stale_socket_file_is_replaced) {
  const TestFolder folder;
  const std::string path = folder.path("s.sock");
  {
    const Fd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof(name.sun_path) - 1);
    ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
  }
  ASSERT_EQ(::access(path.c_str(), F_OK), 0);
  auto listeners = open_listeners("unix:" + path, {});
  ASSERT_TRUE(listeners) << listeners.error().what;
  EXPECT_TRUE(RawClient("unix:" + path).connected());
  folder.write("s.sock", "another's file by now");
  listeners->clear();
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);  // which is not removed
  EXPECT_THAT(bound("unix:" + path), HasSubstr("is no socket"));
  EXPECT_THAT(bound("unix:" + std::string(200, 'x')), HasSubstr("from 1 to 107 bytes"));
}

TEST(Listener, passed_sockets) {
  EXPECT_EQ(passed_sockets(nullptr, nullptr, 7).count, 0);
  EXPECT_EQ(passed_sockets("7", nullptr, 7).count, 0);
  EXPECT_EQ(passed_sockets("8", "2", 7).count, 0);
  EXPECT_EQ(passed_sockets("7x", "2", 7).count, 0);
  EXPECT_EQ(passed_sockets("7", "-1", 7).count, 0);
  EXPECT_EQ(passed_sockets("7", "2", 7).count, 2);
  EXPECT_EQ(passed_sockets("7", "2", 7).first, 3);

  auto opened = open_listeners("127.0.0.1:0", {});
  ASSERT_TRUE(opened);
  const Fd passed(::dup((*opened)[0].fd()));
  ::fcntl(passed.get(), F_SETFL, 0);
  {
    const auto taken = open_listeners("fd://0", {passed.get(), 1});
    ASSERT_TRUE(taken) << taken.error().what;
    EXPECT_EQ((*taken)[0].address(), (*opened)[0].address());
    EXPECT_TRUE(::fcntl((*taken)[0].fd(), F_GETFL) & O_NONBLOCK);
    EXPECT_TRUE(::fcntl(passed.get(), F_GETFD) & FD_CLOEXEC);
    EXPECT_EQ(open_listeners("systemd", {passed.get(), 1})->size(), 1U);
  }
  const auto beyond = open_listeners("fd://1", {passed.get(), 1});
  ASSERT_FALSE(beyond);
  EXPECT_THAT(beyond.error().what, HasSubstr("1 socket(s)"));
  const Fd silent(::socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_THAT(open_listeners("fd://0", {silent.get(), 1}).error().what,
              HasSubstr("does not listen"));
  const Fd file(::open("/dev/null", O_RDONLY));
  EXPECT_FALSE(open_listeners("fd://0", {file.get(), 1}));
}

TEST(Listener, a_server_on_a_passed_socket) {
  auto opened = open_listeners("127.0.0.1:0", {});
  ASSERT_TRUE(opened);
  ServerOptions options;
  options.addresses = {"fd://0"};
  options.passed = {(*opened)[0].fd(), 1};
  auto server = HttpServer::listen(options);
  ASSERT_TRUE(server) << server.error().what;
  (*server)->route("/", [](const HttpRequest&) { return plain_response(200, "passed"); });
  (*server)->start();
  RawClient client((*opened)[0].address());
  client.get("/");
  EXPECT_EQ(client.response().body, "passed\n");
}

}  // namespace
}  // namespace jobscope
