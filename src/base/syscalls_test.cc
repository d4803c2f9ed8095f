#include "src/base/syscalls.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace jobscope {
namespace {

TEST(SyscallName, is_the_one_of_this_architecture) {
  EXPECT_EQ(syscall_name(SYS_read), "read");
  EXPECT_EQ(syscall_name(SYS_sched_yield), "sched_yield");
  EXPECT_EQ(syscall_name(SYS_semtimedop), "semtimedop");
  EXPECT_EQ(syscall_name(SYS_io_uring_enter), "io_uring_enter");
}

TEST(SyscallName, of_an_unknown_number_is_the_number) {
  EXPECT_EQ(syscall_name(100'000), "syscall 100000");
  EXPECT_EQ(syscall_name(~0u), "syscall 4294967295");
}

}  // namespace
}  // namespace jobscope
