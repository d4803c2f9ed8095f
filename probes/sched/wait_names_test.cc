#include "probes/sched/wait_names.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/model/reason.h"

namespace jobscope {
namespace {

using namespace std::string_view_literals;

constexpr uint32_t kDevice = 254u << 20 | 17;

wait_key key(Reason reason, uint64_t id = 0, uint64_t id_1 = 0, uint16_t detail = 0) {
  wait_key key{};
  key.process = 1;
  key.pid = 10;
  key.reason = static_cast<uint8_t>(reason);
  key.detail = detail;
  key.id[0] = id;
  key.id[1] = id_1;
  return key;
}

wait_key peer_key(Reason reason, int family, const char* address, uint16_t port) {
  wait_key k = key(reason, 0, 0, port);
  const std::string mapped = family == AF_INET ? std::string("::ffff:") + address : address;
  EXPECT_EQ(::inet_pton(AF_INET6, mapped.c_str(), k.id), 1);
  return k;
}

TEST(WaitTarget, of_a_wait_for_a_file_is_its_path) {
  Knowledge knowledge;
  file_name_head head{};
  head.key.inode = 7;
  head.key.device = kDevice;
  knowledge.files.add(head, "train.bin\0data\0"sv);
  for (const Reason reason : {Reason::disk_read, Reason::disk_write, Reason::fsync,
                              Reason::page_fault, Reason::file_other, Reason::remote_fs}) {
    EXPECT_EQ(wait_target(key(reason, 7, kDevice), knowledge), "/data/train.bin") << name(reason);
    EXPECT_EQ(wait_target(key(reason, 8, kDevice), knowledge), "") << name(reason);
    EXPECT_EQ(wait_target(key(reason), knowledge), "") << name(reason);
  }
}

TEST(WaitTarget, of_a_wait_for_the_network_is_the_peer) {
  const Knowledge knowledge;
  for (const Reason reason : {Reason::net_recv, Reason::net_send, Reason::net_connect}) {
    EXPECT_EQ(wait_target(peer_key(reason, AF_INET, "10.0.0.7", 9000), knowledge), "10.0.0.7:9000");
    EXPECT_EQ(wait_target(peer_key(reason, AF_INET6, "2001:db8::7", 443), knowledge),
              "[2001:db8::7]:443");
    EXPECT_EQ(wait_target(peer_key(reason, AF_INET6, "::1", 80), knowledge), "[::1]:80");
    EXPECT_EQ(wait_target(peer_key(reason, AF_INET6, "2001:db8::", 1), knowledge),
              "[2001:db8::]:1");
    EXPECT_EQ(wait_target(peer_key(reason, AF_INET, "0.0.0.0", 80), knowledge), "");  // accept
    EXPECT_EQ(wait_target(peer_key(reason, AF_INET6, "::", 80), knowledge), "");
  }
}

TEST(WaitTarget, of_a_wait_for_a_unix_socket_is_the_process_at_its_other_end) {
  Knowledge knowledge;
  knowledge.processes.seen({12, 1}, "server");
  EXPECT_EQ(wait_target(key(Reason::unix_socket, 12), knowledge), "server (pid 12)");
  EXPECT_EQ(wait_target(key(Reason::unix_socket, 13), knowledge), "pid 13");
  EXPECT_EQ(wait_target(key(Reason::unix_socket), knowledge), "");
}

TEST(WaitTarget, of_a_wait_for_a_pipe_is_the_pipe) {
  EXPECT_EQ(wait_target(key(Reason::pipe, 4711), {}), "pipe:[4711]");
  EXPECT_EQ(wait_target(key(Reason::pipe), {}), "");
}

TEST(WaitTarget, of_a_wait_for_a_futex_is_the_library_it_lies_in) {
  static int lock = 1;
  Knowledge knowledge;
  wait_key futex = key(Reason::futex, reinterpret_cast<uint64_t>(&lock));
  EXPECT_EQ(wait_target(futex, knowledge), "");
  futex.pid = static_cast<uint32_t>(::getpid());
  knowledge.processes.exec({futex.pid, futex.process}, 0);
  knowledge.processes.look(knowledge.processes.due(), -1);
  EXPECT_EQ(wait_target(futex, knowledge), "unit_tests");
  futex.process = 2;  // its pid was used again
  EXPECT_EQ(wait_target(futex, knowledge), "");
}

TEST(WaitTarget, of_a_wait_for_children_is_their_command) {
  Knowledge knowledge;
  EXPECT_EQ(wait_target(key(Reason::wait_child), knowledge), "");
  knowledge.processes.seen({10, 1}, "make");
  knowledge.processes.seen({11, 1}, "sh");
  knowledge.processes.child(10, "cc", 5);
  knowledge.processes.child(10, "cc", 5);
  knowledge.processes.child(11, "true", 500);  // of somebody else
  EXPECT_EQ(wait_target(key(Reason::wait_child), knowledge), "cc ×2");
}

TEST(WaitTarget, of_a_wait_for_an_accelerator_is_the_device) {
  EXPECT_EQ(wait_target(key(Reason::accelerator, 195u << 20 | 255), {}), "device 195:255");
  EXPECT_EQ(wait_target(key(Reason::accelerator), {}), "");
}

TEST(WaitTarget, of_any_other_wait_is_the_system_call) {
  EXPECT_EQ(wait_target(key(Reason::other, 0, 0, SYS_semtimedop), {}), "semtimedop");
  EXPECT_EQ(wait_target(key(Reason::other), {}), "");
}

TEST(WaitTarget, is_nothing_if_the_reason_says_it_all) {
  for (const Reason reason :
       {Reason::cpu_user, Reason::cpu_system, Reason::stolen, Reason::runqueue, Reason::throttled,
        Reason::poll, Reason::gil, Reason::barrier, Reason::sleep, Reason::memory, Reason::stopped})
    EXPECT_EQ(wait_target(key(reason, 7, 7, 7), {}), "") << name(reason);
}

}  // namespace
}  // namespace jobscope
