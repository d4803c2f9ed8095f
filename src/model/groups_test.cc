#include "src/model/groups.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "src/model/sample_jobs_for_test.h"

namespace jobscope {
namespace {

using sample_jobs::process;
using sample_jobs::thread;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(HumanTime, has_three_digits_and_the_unit_that_fits) {
  EXPECT_EQ(human_time(0), "0 s");
  EXPECT_EQ(human_time(1), "0.001 µs");
  EXPECT_EQ(human_time(450), "0.45 µs");
  EXPECT_EQ(human_time(999), "0.999 µs");
  EXPECT_EQ(human_time(1'000), "1.00 µs");
  EXPECT_EQ(human_time(999'499), "999 µs");
  EXPECT_EQ(human_time(999'500), "1.00 ms");
  EXPECT_EQ(human_time(12'345'678), "12.3 ms");
  EXPECT_EQ(human_time(999'500'000), "1.00 s");
  EXPECT_EQ(human_time(4'712'000'000), "4.71 s");
  EXPECT_EQ(human_time(9'996'000'000), "10.0 s");
  EXPECT_EQ(human_time(99'960'000'000), "100 s");
  EXPECT_EQ(human_time(999'500'000'000), "1,000 s");
  EXPECT_EQ(human_time(5'412'400'000'000), "5,412 s");
}

TEST(HumanBytes, counts_in_powers_of_1024) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1'023), "1023 B");
  EXPECT_EQ(human_bytes(1'536), "1.50 KiB");
  EXPECT_EQ(human_bytes(1'048'575), "1.00 MiB");
  EXPECT_EQ(human_bytes(UINT64_MAX), "16.0 EiB");
}

TEST(HumanCount, separates_thousands_up_to_a_million) {
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(412'345), "412,345");
  EXPECT_EQ(human_count(2'310'000), "2.31 M");
  EXPECT_EQ(human_count(UINT64_MAX), "18446744 T");
}

TEST(HumanPercent, has_a_decimal_below_ten_only) {
  EXPECT_EQ(human_percent(0), "0 %");
  EXPECT_EQ(human_percent(0.0001), "<0.1 %");
  EXPECT_EQ(human_percent(0.031), "3.1 %");
  EXPECT_EQ(human_percent(0.0996), "10 %");
  EXPECT_EQ(human_percent(0.384), "38 %");
  EXPECT_EQ(human_percent(1), "100 %");
}

TEST(HumanCores, never_turns_a_little_into_nothing) {
  EXPECT_EQ(human_cores(0), "0.0");
  EXPECT_EQ(human_cores(0.01), "<0.1");
  EXPECT_EQ(human_cores(1.72), "1.7");
}

TEST(WholeNumber, has_bounds) {
  EXPECT_EQ(whole_number(2.5), 3U);
  EXPECT_EQ(whole_number(-1), 0U);
  EXPECT_EQ(whole_number(std::nan("")), 0U);
  EXPECT_EQ(whole_number(1e30), UINT64_MAX);
  EXPECT_EQ(whole_number(18446744073709549568.0), 18446744073709549568U);
}

TEST(PerSecond, of_no_time_is_nothing) {
  EXPECT_EQ(per_second(5, 0), 0U);
  EXPECT_EQ(per_second(10, 4'000'000'000), 3U);
}

TEST(ShareOf, nothing_is_zero) { EXPECT_EQ(share_of(5, 0), 0); }

TEST(NameStem, leaves_out_numbers_and_what_parts_them) {
  EXPECT_EQ(name_stem("ActorThread_12"), "ActorThread");
  EXPECT_EQ(name_stem("kworker/0:1"), "kworker");
  EXPECT_EQ(name_stem("infer7"), "infer");
  EXPECT_EQ(name_stem("resize_queue"), "resize_queue");
  EXPECT_EQ(name_stem("trailing_"), "trailing_");
  EXPECT_EQ(name_stem("1234"), "1234");
  EXPECT_EQ(name_stem(""), "");
}

TEST(CoresUsed, are_the_fewest_that_hold_95_percent) {
  EXPECT_EQ(cores_used({}), 0U);
  EXPECT_EQ(cores_used({{3, 0}}), 0U);
  EXPECT_EQ(cores_used({{0, 1}}), 1U);
  EXPECT_EQ(cores_used({{0, 50}, {1, 4}, {2, 46}}), 2U);
  EXPECT_EQ(cores_used({{0, 50}, {1, 6}, {2, 44}}), 3U);
}

std::vector<std::string> labels(const Snapshot& snapshot) {
  std::vector<std::string> result;
  for (const auto& group : thread_groups(snapshot, ProcessIndex(snapshot)))
    result.push_back(group.label + " " + std::to_string(group.threads));
  return result;
}

TEST(ThreadGroups, of_one_kind_of_process) {
  EXPECT_THAT(labels(sample_jobs::lenet()),
              ElementsAre("KernelThread_0 1", "python3 (main) 1", "ActorThread_0 1",
                          "python3 (unnamed) 27", "ldconfig (main) 1", "sh (main) 1",
                          "uname (main) 1", "infer_queue 1", "launch_queue 1", "resize_queue 1"));
}

TEST(ThreadGroups, say_which_process_when_more_than_one_kind_has_named_threads) {
  Snapshot snapshot;
  for (const uint32_t pid : {10, 20}) {
    snapshot.processes.push_back(process(pid, 1, pid == 10 ? "train" : "serve", {}, 1, 1, {}));
    for (uint32_t i = 0; i < 11; ++i)
      snapshot.threads.push_back(thread({pid, pid + 1 + i, "worker-" + std::to_string(i), 0, 1},
                                        {{Reason::cpu_user, pid == 10 ? 0.2 : 0.1}},
                                        Reason::futex));
  }
  EXPECT_THAT(labels(snapshot), ElementsAre("train/worker-* 11", "serve/worker-* 11"));
}

TEST(ThreadGroups, keep_every_nanosecond) {
  const Snapshot snapshot = sample_jobs::many_threads();
  const JobTotals totals = totals_of(snapshot);
  JobTotals sums;
  for (const auto& group : thread_groups(snapshot, ProcessIndex(snapshot))) {
    EXPECT_EQ(sum(group.parts), group.lifetime);
    add(sums.parts, group.parts);
    sums.threads += group.threads;
    for (const auto& [core, time] : group.cores) sums.cores[core] += time;
  }
  EXPECT_EQ(sums.parts, totals.parts);
  EXPECT_EQ(sums.threads, 3'000U);
  EXPECT_EQ(sums.cores, totals.cores);
}

TEST(ThreadGroups, of_folded_lines_have_the_name_they_were_folded_by) {
  EXPECT_THAT(labels(sample_jobs::fork_storm()), ElementsAre("true 10000", "bash (main) 9"));
}

TEST(FocusOf, is_the_main_thread_of_the_root_process) {
  const Snapshot snapshot = sample_jobs::lenet();
  const Focus focus = focus_of(snapshot, ProcessIndex(snapshot));
  ASSERT_NE(focus.main, nullptr);
  EXPECT_EQ(focus.main->tid, 4711U);
  EXPECT_FALSE(focus.launcher());
}

// A shell that started torchrun, which started two trainers with loaders that use more CPU.
Snapshot launched(Reason torchrun_waits_in) {
  using enum Reason;
  Snapshot s;
  s.job.root_pid = 1;
  s.threads = {thread({1, 1, "sh", 0, 100}, {{cpu_user, 0.01}}, wait_child),
               thread({2, 2, "torchrun", 0, 99}, {{cpu_user, 3}}, torchrun_waits_in),
               thread({3, 3, "python3", 4, 90}, {{cpu_user, 30}}, poll),
               thread({4, 4, "pt_data_worker", 5, 80}, {{cpu_user, 79}}, pipe),
               thread({5, 5, "python3", 4, 90}, {{cpu_user, 20}}, poll)};
  s.processes = {process(1, 0, "sh", {}, 100, 0.01, {}), process(2, 1, "torchrun", {}, 99, 3, {}),
                 process(3, 2, "python3", {}, 90, 30, {}),
                 process(4, 3, "pt_data_worker", {}, 80, 79, {}),
                 process(5, 2, "python3", {}, 90, 20, {})};
  return s;
}

TEST(FocusOf, goes_through_launchers_but_not_to_the_loader) {
  for (const Reason reason : {Reason::sleep, Reason::poll, Reason::wait_child}) {
    const Snapshot snapshot = launched(reason);
    const Focus focus = focus_of(snapshot, ProcessIndex(snapshot));
    ASSERT_NE(focus.main, nullptr);
    EXPECT_EQ(focus.main->pid, 3U);
    EXPECT_EQ(focus.root->pid, 1U);
    EXPECT_TRUE(focus.launcher());
  }
}

TEST(FocusOf, stays_at_a_process_that_waits_for_its_loader) {
  Snapshot snapshot = launched(Reason::sleep);
  snapshot.job.root_pid = 3;
  const Focus focus = focus_of(snapshot, ProcessIndex(snapshot));
  EXPECT_EQ(focus.main->pid, 3U);
  EXPECT_FALSE(focus.launcher());
}

TEST(FocusOf, without_a_root_process_is_the_family_with_the_most_cpu) {
  Snapshot snapshot = launched(Reason::sleep);
  snapshot.job.root_pid = 0;
  std::erase_if(snapshot.processes, [](const ProcessUse& p) { return p.pid < 3; });
  std::erase_if(snapshot.threads, [](const ThreadUse& t) { return t.pid < 3; });
  const Focus focus = focus_of(snapshot, ProcessIndex(snapshot));
  EXPECT_EQ(focus.root, nullptr);
  EXPECT_EQ(focus.main->pid, 3U);
}

TEST(FocusOf, nothing_is_nothing) {
  const Snapshot snapshot;
  const Focus focus = focus_of(snapshot, ProcessIndex(snapshot));
  EXPECT_EQ(focus.main, nullptr);
  EXPECT_FALSE(focus.launcher());
}

TEST(ProcessIndex, survives_parents_in_a_circle) {
  Snapshot snapshot;  // pids are used again: each of the two is the other's parent
  snapshot.processes = {process(1, 2, "a", {}, 1, 1, {}), process(2, 1, "b", {}, 1, 2, {}),
                        process(3, 3, "c", {}, 1, 4, {})};
  const ProcessIndex processes(snapshot);
  EXPECT_TRUE(processes.descends(1, 2));
  EXPECT_FALSE(processes.descends(1, 9));
  EXPECT_EQ(processes.family_cpu(1), sample_jobs::seconds(3));
  EXPECT_EQ(processes.family_cpu(3), sample_jobs::seconds(4));
  focus_of(snapshot, processes);
}

TEST(WakersOf, puts_threads_of_one_name_together) {
  const Snapshot snapshot = sample_jobs::loader();
  const ProcessIndex processes(snapshot);
  const auto wakers = wakers_of(snapshot, processes, *processes.main_thread(500), Reason::poll);
  ASSERT_EQ(wakers.size(), 1U);
  EXPECT_EQ(wakers[0].kind, WakerGroup::Kind::child);
  EXPECT_EQ(wakers[0].name, "pt_data_worker");
  EXPECT_EQ(wakers[0].threads, 2U);
  EXPECT_EQ(wakers[0].waits, 1'250U);
}

TEST(WakersOf, knows_threads_without_a_name_of_their_own) {
  const Snapshot snapshot = sample_jobs::lenet();
  const ProcessIndex processes(snapshot);
  const auto wakers = wakers_of(snapshot, processes, *processes.main_thread(4711), Reason::futex);
  ASSERT_EQ(wakers.size(), 3U);
  EXPECT_EQ(wakers[0].name, "KernelThread_0");
  EXPECT_FALSE(wakers[0].unnamed);
  EXPECT_TRUE(wakers[2].unnamed);
  EXPECT_EQ(wakers[2].threads, 2U);
}

TEST(WakersOf, says_nothing_of_waits_that_an_interrupt_ends) {
  Snapshot snapshot = sample_jobs::lenet();
  for (auto& use : snapshot.wakers) use.reason = Reason::disk_read;
  const ProcessIndex processes(snapshot);
  EXPECT_THAT(wakers_of(snapshot, processes, *processes.main_thread(4711), Reason::disk_read),
              IsEmpty());
}

TEST(NamedWaits, are_summed_over_processes_and_main_threads_come_first) {
  Snapshot snapshot;
  snapshot.waits = {{1, "a", false, Reason::pipe, "pipe:[7]", 100, 1},
                    {2, "a", false, Reason::pipe, "pipe:[8]", 100, 2},
                    {1, "a", true, Reason::disk_read, "/x", 5, 1},
                    {2, "a", true, Reason::disk_read, "/x", 6, 1}};
  const auto waits = named_waits(snapshot, Focus{});
  ASSERT_EQ(waits.size(), 2U);
  EXPECT_EQ(waits[0].wait, 11U);
  EXPECT_EQ(waits[0].target, "/x");
  EXPECT_EQ(waits[1].wait, 200U);
  EXPECT_EQ(waits[1].target, "");
}

TEST(ShortLived, counts_folded_ones_and_leaves_out_the_root) {
  EXPECT_EQ(short_lived(sample_jobs::fork_storm()).count, 10'000U);
  EXPECT_EQ(short_lived(sample_jobs::empty()).count, 0U);
  EXPECT_THAT(short_lived(sample_jobs::lenet()).commands,
              ElementsAre(Pair("ldconfig", 1U), Pair("sh", 1U), Pair("uname", 1U)));
}

}  // namespace
}  // namespace jobscope
