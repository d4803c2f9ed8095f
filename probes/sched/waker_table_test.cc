#include "probes/sched/waker_table.h"

#include <gtest/gtest.h>

#include <cstring>

namespace jobscope {
namespace {

waker_key key(uint32_t waker_pid, uint32_t tid) {
  waker_key key{};
  key.process = 1;
  key.pid = 7;
  key.waker_pid = waker_pid;
  key.tid = tid;
  key.reason = static_cast<uint32_t>(Reason::futex);
  return key;
}

waker_use use(uint64_t ns, const char* name) {
  waker_use use{};
  use.ns = ns;
  use.count = 1;
  std::strncpy(use.name, name, sizeof(use.name) - 1);
  return use;
}

TEST(WakerTable, sums_by_waker_and_puts_the_longest_first) {
  WakerTable table;
  table.add(key(7, 8), use(10, "pool"));
  table.add(key(7, 9), use(25, "loader"));
  table.add(key(7, 8), use(30, "pool"));
  const auto rows = table.rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].waker, "pool");
  EXPECT_EQ(rows[0].waker_tid, 8u);
  EXPECT_EQ(rows[0].wait, 40u);
  EXPECT_EQ(rows[0].waits, 2u);
  EXPECT_EQ(rows[1].waker, "loader");
}

TEST(WakerTable, beyond_its_room_the_threads_of_a_process_are_one) {
  constexpr uint32_t kMaxKept = 16384, kMore = 11;
  WakerTable table;
  for (uint32_t i = 0; i < kMaxKept + kMore; ++i) table.add(key(7, 100 + i), use(1, "worker"));
  const auto rows = table.rows();
  ASSERT_EQ(rows.size(), kMaxKept + 1u);
  EXPECT_EQ(rows[0].waker_tid, 7u);
  EXPECT_EQ(rows[0].waits, kMore);
}

}  // namespace
}  // namespace jobscope
