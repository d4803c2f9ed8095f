#include "src/session/waits.h"

#include <gtest/gtest.h>

#include "src/model/reason.h"

namespace jobscope {
namespace {

wait_key key(uint32_t pid, Reason reason, uint64_t id = 0) {
  wait_key key{};
  key.process = 1000 + pid;
  key.pid = pid;
  key.reason = static_cast<uint8_t>(reason);
  key.id[0] = id;
  return key;
}

thread with(std::initializer_list<named_wait> waits) {
  thread t{};
  t.state = THREAD_ON_CPU;
  size_t i = 0;
  for (const named_wait& wait : waits) t.named[i++] = wait;
  return t;
}

TEST(WaitKey, each_field_tells_two_apart) {
  const WaitKeyLess less;
  const wait_key base = key(1, Reason::futex, 5);
  EXPECT_FALSE(less(base, base));
  const auto differs = [&](auto change) {
    wait_key other = base;
    change(other);
    return less(base, other) != less(other, base);
  };
  EXPECT_TRUE(differs([](wait_key& k) { k.process = 7; }));
  EXPECT_TRUE(differs([](wait_key& k) { k.pid = 7; }));
  EXPECT_TRUE(differs([](wait_key& k) { k.main_thread = 1; }));
  EXPECT_TRUE(differs([](wait_key& k) { k.reason = 3; }));
  EXPECT_TRUE(differs([](wait_key& k) { k.detail = 7; }));
  EXPECT_TRUE(differs([](wait_key& k) { k.id[0] = 7; }));
  EXPECT_TRUE(differs([](wait_key& k) { k.id[1] = 7; }));
}

TEST(WaitTable, ended_threads_add_up) {
  WaitTable table;
  const wait_key lock = key(1, Reason::futex, 5), file = key(1, Reason::disk_read, 9);
  table.add_ended(with({{lock, {10, 1}}, {file, {100, 2}}}));
  table.add_ended(with({{lock, {30, 3}}}));
  const WaitMap all = table.all();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all.at(lock).ns, 40u);
  EXPECT_EQ(all.at(lock).count, 4u);
  EXPECT_EQ(all.at(file).ns, 100u);
}

TEST(WaitTable, the_living_are_told_anew_at_each_look) {
  WaitTable table;
  const wait_key lock = key(1, Reason::futex, 5);
  table.add_ended(with({{lock, {1, 1}}}));
  table.begin_look();
  table.add_living(with({{lock, {10, 1}}}));
  EXPECT_EQ(table.all().at(lock).ns, 11u);
  table.begin_look();
  table.add_living(with({{lock, {30, 2}}}));
  EXPECT_EQ(table.all().at(lock).ns, 31u);
  EXPECT_EQ(table.all().at(lock).count, 3u);
  table.begin_look();
  EXPECT_EQ(table.all().at(lock).ns, 1u);
}

TEST(WaitTable, the_wait_that_still_lasts_counts_but_not_its_time_on_the_run_queue) {
  WaitTable table;
  thread t = with({});
  t.state = THREAD_BLOCKED;
  t.wait = key(1, Reason::pipe, 3);
  t.since = 100;
  t.now = 150;
  t.queued = 20;
  table.add_living(t);
  EXPECT_EQ(table.all().at(t.wait).ns, 30u);
  EXPECT_EQ(table.all().at(t.wait).count, 1u);
}

TEST(WaitTable, without_a_wait_that_lasts_there_is_none) {
  WaitTable table;
  thread t = with({});
  t.wait = key(1, Reason::pipe, 3);
  t.since = 100;
  t.now = 150;
  for (const uint8_t state : {THREAD_ON_CPU, THREAD_QUEUED, THREAD_ENDED}) {
    t.state = state;
    table.add_living(t);
  }
  t.state = THREAD_BLOCKED;
  t.queued = 50;  // woken at once, and queued since
  table.add_living(t);
  t.queued = 0;
  t.now = 100;
  table.add_living(t);
  t.now = 90;  // the clocks of two CPUs
  table.add_living(t);
  EXPECT_TRUE(table.all().empty());
}

TEST(WaitTable, beyond_its_room_waits_are_summed_by_reason) {
  constexpr uint32_t kMaxKept = 65536, kMore = 10;
  WaitTable table;
  for (uint32_t i = 0; i < kMaxKept + kMore; ++i) {
    wait_key one = key(1, Reason::futex, i + 1);
    one.main_thread = i % 2;
    table.add_ended(with({{one, {1, 1}}}));
  }
  table.add_ended(with({{key(1, Reason::futex, 1), {100, 1}}}));  // one that has its place
  const WaitMap all = table.all();
  EXPECT_EQ(all.size(), kMaxKept + 2u);
  wait_key rest{};
  rest.reason = static_cast<uint8_t>(Reason::futex);
  EXPECT_EQ(all.at(rest).count, kMore / 2);
  rest.main_thread = 1;
  EXPECT_EQ(all.at(rest).ns, kMore / 2);
  EXPECT_EQ(all.at(key(1, Reason::futex, 1)).ns, 101u);
}

}  // namespace
}  // namespace jobscope
