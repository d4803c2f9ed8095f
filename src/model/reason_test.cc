#include "src/model/reason.h"

#include <gtest/gtest.h>

#include <set>

namespace jobscope {
namespace {

TEST(Reason, each_has_its_own_name_and_label) {
  std::set<std::string_view> names, labels;
  for (size_t i = 0; i < kReasons; ++i) {
    const auto reason = static_cast<Reason>(i);
    EXPECT_FALSE(name(reason).empty()) << i;
    EXPECT_FALSE(label(reason).empty()) << i;
    names.insert(name(reason));
    labels.insert(label(reason));
    EXPECT_EQ(reason_by_name(name(reason)), reason) << name(reason);
  }
  EXPECT_EQ(names.size(), kReasons);
  EXPECT_EQ(labels.size(), kReasons);
}

// Recordings hold the names, so they never change.
TEST(Reason, names_lie_at_the_numbers_of_the_kernel_side) {
  EXPECT_EQ(name(static_cast<Reason>(REASON_CPU_USER)), "cpu_user");
  EXPECT_EQ(name(static_cast<Reason>(REASON_RUNQUEUE)), "runqueue");
  EXPECT_EQ(name(static_cast<Reason>(REASON_DISK_READ)), "disk_read");
  EXPECT_EQ(name(static_cast<Reason>(REASON_REMOTE_FS)), "remote_fs");
  EXPECT_EQ(name(static_cast<Reason>(REASON_FUTEX)), "futex");
  EXPECT_EQ(name(static_cast<Reason>(REASON_GIL)), "gil");
  EXPECT_EQ(name(static_cast<Reason>(REASON_WAIT_CHILD)), "wait_child");
  EXPECT_EQ(name(static_cast<Reason>(REASON_OTHER)), "other");
}

TEST(Reason, an_unknown_name_is_none) {
  for (const char* name : {"", "cpu", "CPU_USER", "cpu_user ", "disk read"})
    EXPECT_FALSE(reason_by_name(name)) << name;
}

TEST(Reason, is_on_a_cpu_or_blocked_or_neither) {
  size_t running = 0, waiting = 0;
  for (size_t i = 0; i < kReasons; ++i) {
    const auto reason = static_cast<Reason>(i);
    running += on_cpu(reason);
    waiting += blocked(reason);
    EXPECT_FALSE(on_cpu(reason) && blocked(reason)) << name(reason);
  }
  EXPECT_EQ(running, 2u);
  EXPECT_EQ(waiting, kReasons - 5);  // all but the two and stolen, run queue, throttled
  EXPECT_TRUE(on_cpu(Reason::cpu_system));
  EXPECT_FALSE(blocked(Reason::throttled));
  EXPECT_TRUE(blocked(Reason::disk_read));
  EXPECT_TRUE(blocked(Reason::other));
}

TEST(Parts, add_up_by_reason) {
  Parts a{}, b{};
  part(a, Reason::cpu_user) = 1;
  part(a, Reason::other) = 2;
  part(b, Reason::cpu_user) = 10;
  part(b, Reason::gil) = 20;
  add(a, b);
  EXPECT_EQ(part(a, Reason::cpu_user), 11u);
  EXPECT_EQ(part(a, Reason::gil), 20u);
  EXPECT_EQ(part(a, Reason::other), 2u);
  EXPECT_EQ(sum(a), 33u);
  EXPECT_EQ(sum(b), 30u);
}

TEST(Parts, hold_more_than_32_bits) {
  Parts parts{};
  part(parts, Reason::sleep) = 1ull << 40;
  part(parts, Reason::poll) = 1;
  EXPECT_EQ(sum(parts), (1ull << 40) + 1);
}

}  // namespace
}  // namespace jobscope
