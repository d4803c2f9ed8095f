#include "probes/sched/thread_table.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>

namespace jobscope {
namespace {

thread record(uint32_t tid, uint64_t start = 1000) {
  thread t{};
  t.pid = 10;
  t.tid = tid;
  t.process = 1;
  t.start = start;
  t.since = start;
  t.state = THREAD_ENDED;
  std::strcpy(t.name, "worker");
  return t;
}

// Lets the thread spend time, so that start + sum(parts) == since.
void spend(thread& t, reason why, uint64_t ns) {
  t.parts[why] += ns;
  t.since += ns;
}

std::vector<ThreadUse> written(const ThreadTable& table, const ProcessNames& names = {}) {
  std::vector<ThreadUse> threads;
  table.write(0, names, threads);
  return threads;
}

// The one thread of a table with this living thread.
ThreadUse living(const thread& t, std::span<const uint64_t> cores = {}) {
  ThreadTable table;
  table.add({t, cores, false});
  const std::vector<ThreadUse> threads = written(table);
  EXPECT_EQ(threads.size(), 1u);
  EXPECT_EQ(sum(threads.at(0).parts), threads[0].lifetime);
  return threads[0];
}

TEST(SplitCpu, goes_by_the_ticks) {
  EXPECT_EQ(split_cpu(1000, 3, 1, 0.9).system, 250u);
  EXPECT_EQ(split_cpu(1000, 3, 1, 0.9).user, 750u);
  EXPECT_EQ(split_cpu(1000, 5, 0, 0.9).system, 0u);
  EXPECT_EQ(split_cpu(1000, 0, 5, 0.1).user, 0u);
}

TEST(SplitCpu, without_ticks_goes_by_the_fellows) {
  EXPECT_EQ(split_cpu(1000, 0, 0, 0.25).system, 250u);
  EXPECT_EQ(split_cpu(1000, 0, 0, 0.25).user, 750u);
  EXPECT_EQ(split_cpu(1000, 0, 0, 0).user, 1000u);
  EXPECT_EQ(split_cpu(0, 0, 0, 0.25).user, 0u);
}

TEST(SplitCpu, makes_up_the_sum_to_the_nanosecond) {
  for (const uint64_t cpu : {1ull, 999'999'999'999'999'999ull, ~0ull >> 1}) {
    for (const uint64_t stime : {1ull, 7ull, 1ull << 62}) {
      const CpuSplit split = split_cpu(cpu, 13, stime, 0);
      EXPECT_EQ(split.user + split.system, cpu);
      EXPECT_LE(split.system, cpu);
    }
  }
}

TEST(ThreadTable, a_thread_on_a_cpu_has_run_until_now) {
  thread t = record(11);
  spend(t, REASON_FUTEX, 300);
  t.state = THREAD_ON_CPU;
  t.now = t.since + 50;
  t.cpu = 1;
  t.utime = 1;
  const std::array<uint64_t, 2> cores = {7, 20};
  const ThreadUse use = living(t, cores);
  EXPECT_EQ(use.cpu(), 50u);
  EXPECT_EQ(use.lifetime, 350u);
  EXPECT_EQ(use.cores, (std::map<uint32_t, Nanoseconds>{{0, 7}, {1, 70}}));
  EXPECT_FALSE(use.exited);
}

TEST(ThreadTable, a_thread_that_was_adopted_while_it_ran_has_no_core_yet) {
  thread t = record(11);
  t.state = THREAD_ON_CPU;
  t.now = t.since + 50;
  t.cpu = ~0u;
  const ThreadUse use = living(t);
  EXPECT_EQ(use.cpu(), 50u);
  EXPECT_TRUE(use.cores.empty());
}

TEST(ThreadTable, a_queued_thread_has_waited_for_a_cpu_until_now) {
  thread t = record(11);
  t.state = THREAD_QUEUED;
  t.reason = REASON_OTHER;
  t.now = t.since + 50;
  const ThreadUse use = living(t);
  EXPECT_EQ(part(use.parts, Reason::runqueue), 50u);
  EXPECT_EQ(part(use.parts, Reason::other), 0u);
}

TEST(ThreadTable, a_blocked_thread_has_waited_for_its_reason_and_then_for_a_cpu) {
  thread t = record(11);
  t.state = THREAD_BLOCKED;
  t.reason = REASON_DISK_READ;
  t.now = t.since + 50;
  t.queued = 20;
  const ThreadUse use = living(t);
  EXPECT_EQ(part(use.parts, Reason::disk_read), 30u);
  EXPECT_EQ(part(use.parts, Reason::runqueue), 20u);
  t.queued = 500;  // of two clocks that differ
  EXPECT_EQ(part(living(t).parts, Reason::runqueue), 50u);
  EXPECT_EQ(part(living(t).parts, Reason::disk_read), 0u);
}

TEST(ThreadTable, a_look_before_the_last_change_adds_nothing) {
  for (const uint8_t state : {THREAD_ON_CPU, THREAD_QUEUED, THREAD_BLOCKED}) {
    thread t = record(11);
    spend(t, REASON_POLL, 300);
    t.state = state;
    t.now = t.since - 10;
    t.queued = 20;
    EXPECT_EQ(living(t).lifetime, 300u) << int{state};
  }
}

TEST(ThreadTable, each_look_replaces_the_last_and_the_end_replaces_them_all) {
  ThreadTable table;
  thread t = record(11);
  t.state = THREAD_BLOCKED;
  t.reason = REASON_PIPE;
  for (t.now = 1010; t.now <= 1030; t.now += 10) table.add({t, {}, false});
  ASSERT_EQ(written(table).size(), 1u);
  EXPECT_EQ(written(table)[0].lifetime, 30u);
  spend(t, REASON_PIPE, 25);  // seen on a CPU whose clock is behind
  t.state = THREAD_ENDED;
  table.add({t, {}, true});
  ASSERT_EQ(written(table).size(), 1u);
  EXPECT_EQ(written(table)[0].lifetime, 25u);
  EXPECT_EQ(part(written(table)[0].parts, Reason::pipe), 25u);
  EXPECT_TRUE(written(table)[0].exited);
}

TEST(ThreadTable, an_ended_thread_is_taken_as_it_is) {
  ThreadTable table;
  thread t = record(11);
  spend(t, REASON_CPU_USER, 40);
  t.now = t.since + 1000;
  t.cpu = 1;
  const std::array<uint64_t, 2> cores = {0, 40};
  table.add({t, cores, true});
  EXPECT_EQ(written(table).at(0).lifetime, 40u);
  EXPECT_EQ(written(table).at(0).cores, (std::map<uint32_t, Nanoseconds>{{1, 40}}));
}

TEST(ThreadTable, a_tid_used_again_is_another_thread) {
  ThreadTable table;
  table.add({record(11, 1000), {}, true});
  table.add({record(11, 2000), {}, true});
  EXPECT_EQ(written(table).size(), 2u);
}

TEST(ThreadTable, threads_are_told_oldest_first_and_in_the_clock_of_people) {
  ThreadTable table;
  table.add({record(11, 3000), {}, true});
  table.add({record(12, 1000), {}, true});
  table.add({record(13, 1000), {}, false});
  std::vector<ThreadUse> threads;
  table.write(500, {}, threads);
  ASSERT_EQ(threads.size(), 3u);
  EXPECT_EQ(threads[0].tid, 12u);
  EXPECT_EQ(threads[0].start, 1500u);
  EXPECT_EQ(threads[0].name, "worker");
  EXPECT_EQ(threads[1].tid, 13u);
  EXPECT_EQ(threads[2].tid, 11u);
}

TEST(ThreadTable, counts_are_handed_on) {
  thread t = record(11);
  t.voluntary = 1, t.involuntary = 2, t.minor_faults = 3, t.major_faults = 4, t.migrations = 5;
  t.node_moves = 6, t.yields = 7, t.samples = 8, t.yield_samples = 9;
  std::memset(t.name, 'x', sizeof(t.name));  // without a NUL
  const ThreadUse use = living(t);
  EXPECT_EQ(use.voluntary, 1u);
  EXPECT_EQ(use.involuntary, 2u);
  EXPECT_EQ(use.minor_faults, 3u);
  EXPECT_EQ(use.major_faults, 4u);
  EXPECT_EQ(use.migrations, 5u);
  EXPECT_EQ(use.node_moves, 6u);
  EXPECT_EQ(use.yields, 7u);
  EXPECT_EQ(use.samples, 8u);
  EXPECT_EQ(use.yield_samples, 9u);
  EXPECT_EQ(use.name, std::string(16, 'x'));
}

TEST(ThreadTable, a_thread_no_tick_met_is_split_as_its_fellows) {
  ThreadTable table;
  thread a = record(11), b = record(12), stranger = record(13);
  for (thread* t : {&a, &b, &stranger}) spend(*t, REASON_CPU_USER, 1000);
  a.utime = 1;
  a.stime = 3;
  stranger.pid = 20;
  ProcessNames names;
  names.seen({10, 1}, "python");
  names.seen({20, 1}, "other");
  for (const thread* t : {&a, &b, &stranger}) table.add({*t, {}, true});
  const std::vector<ThreadUse> threads = written(table, names);
  EXPECT_EQ(part(threads[0].parts, Reason::cpu_system), 750u);
  EXPECT_EQ(part(threads[1].parts, Reason::cpu_system), 750u);
  EXPECT_EQ(part(threads[1].parts, Reason::cpu_user), 250u);
  EXPECT_EQ(part(threads[2].parts, Reason::cpu_system), 0u);
}

TEST(ThreadTable, beyond_its_room_ended_threads_are_summed_by_name) {
  constexpr uint32_t kMax = ThreadTable::kMaxEnded;
  ThreadTable table;
  for (uint32_t tid = 1; tid <= kMax; ++tid) table.add({record(tid), {}, true});
  std::array<uint64_t, 2> cores = {0, 40};
  thread t = record(kMax + 1, 5000);
  spend(t, REASON_CPU_USER, 40);
  spend(t, REASON_GIL, 60);
  t.voluntary = 3;
  t.state = THREAD_ON_CPU;
  table.add({t, {}, false});
  EXPECT_EQ(written(table).size(), kMax + 1);  // the living have their place
  t.state = THREAD_ENDED;
  table.add({t, cores, true});
  t = record(kMax + 2, 9000);
  spend(t, REASON_CPU_USER, 2);
  t.voluntary = 4;
  cores = {1, 1};
  table.add({t, cores, true});
  std::strcpy(t.name, "other");
  table.add({t, cores, true});

  const std::vector<ThreadUse> threads = written(table);
  ASSERT_EQ(threads.size(), kMax + 2);
  const ThreadUse& other = threads[kMax];
  const ThreadUse& workers = threads[kMax + 1];
  EXPECT_EQ(other.name, "other");
  EXPECT_EQ(other.threads, 1u);
  EXPECT_EQ(workers.name, "worker");
  EXPECT_EQ(workers.threads, 2u);
  EXPECT_EQ(workers.pid, 0u);
  EXPECT_EQ(workers.tid, 0u);
  EXPECT_EQ(workers.voluntary, 7u);
  EXPECT_EQ(workers.cpu(), 42u);
  EXPECT_EQ(part(workers.parts, Reason::gil), 60u);
  EXPECT_EQ(workers.lifetime, 102u);
  EXPECT_EQ(sum(workers.parts), workers.lifetime);
  EXPECT_EQ(workers.cores, (std::map<uint32_t, Nanoseconds>{{0, 1}, {1, 41}}));
  EXPECT_TRUE(workers.exited);
}

}  // namespace
}  // namespace jobscope
