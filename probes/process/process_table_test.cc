#include "probes/process/process_table.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

namespace jobscope {
namespace {

using namespace std::string_view_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Above the largest pid there can be, for what is looked up in /proc.
constexpr uint32_t kPid = 5'000'000;
constexpr uint64_t kStart = 1'000'000;

exec_event exec_of(const char* name, uint32_t pid = kPid, uint64_t start = kStart) {
  exec_event event{};
  event.process = start;
  event.pid = pid;
  event.ppid = 7;
  std::strcpy(event.name, name);
  return event;
}

process_event end_of(int status, uint32_t pid = kPid, uint64_t start = kStart) {
  process_event event{};
  event.process = start;
  event.pid = pid;
  event.ppid = 7;
  event.status = status;
  event.at = start + 500;
  std::strcpy(event.name, "train");
  return event;
}

thread thread_of(uint32_t tid, uint64_t start, uint32_t pid = kPid) {
  thread t{};
  t.process = kStart;
  t.pid = pid;
  t.tid = tid;
  t.ppid = 7;
  t.start = t.since = start;
  t.state = THREAD_BLOCKED;
  std::strcpy(t.name, tid == pid ? "train" : "worker");
  return t;
}

std::vector<ProcessUse> written(ProcessTable& table, uint64_t clock_offset = 0) {
  std::vector<ProcessUse> processes;
  table.write(clock_offset, processes);
  return processes;
}

ProcessUse one(ProcessTable& table, uint64_t clock_offset = 0) {
  const std::vector<ProcessUse> processes = written(table, clock_offset);
  EXPECT_EQ(processes.size(), 1u);
  return processes.at(0);
}

ProcessUse ended(const process_event& event) {
  ProcessTable table;
  table.end(event);
  return one(table);
}

uint64_t page() { return static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)); }

TEST(SplitArgv, splits_at_each_nul) {
  EXPECT_THAT(split_argv("a\0b c\0"sv), ElementsAre("a", "b c"));
  EXPECT_THAT(split_argv("a\0\0b\0"sv), ElementsAre("a", "", "b"));
  EXPECT_THAT(split_argv("a\0cut of"sv), ElementsAre("a", "cut of"));
  EXPECT_THAT(split_argv(""sv), IsEmpty());
}

TEST(ProcessTable, an_exec_tells_the_command) {
  ProcessTable table;
  exec_event event = exec_of("sh");
  table.exec(event, "sh\0-c\0"sv);
  event = exec_of("train");
  event.argv_size = event.argv_full = 12;
  table.exec(event, "train\0--fast\0"sv);
  const ProcessUse use = one(table);
  EXPECT_EQ(use.pid, kPid);
  EXPECT_EQ(use.ppid, 7u);
  EXPECT_EQ(use.name, "train");
  EXPECT_THAT(use.argv, ElementsAre("train", "--fast"));
  EXPECT_FALSE(use.argv_truncated);
  EXPECT_FALSE(use.exited);
  EXPECT_FALSE(use.exit_code);
  EXPECT_FALSE(use.peak_rss);  // of nobody's /proc
}

TEST(ProcessTable, a_command_that_was_cut_off_says_so) {
  ProcessTable table;
  exec_event event = exec_of("train");
  event.argv_size = 4095;
  event.argv_full = 4096;
  table.exec(event, "train\0"sv);
  EXPECT_TRUE(one(table).argv_truncated);
}

TEST(ProcessTable, an_end_has_an_exit_code_or_a_signal) {
  const ProcessUse exited = ended(end_of(3 << 8));
  EXPECT_TRUE(exited.exited);
  EXPECT_EQ(exited.name, "train");
  EXPECT_EQ(exited.exit_code, 3);
  EXPECT_FALSE(exited.signal);
  EXPECT_FALSE(exited.killed_by);
  EXPECT_EQ(exited.lifetime, 500u);
  const ProcessUse killed = ended(end_of(SIGTERM));
  EXPECT_EQ(killed.signal, SIGTERM);
  EXPECT_FALSE(killed.exit_code);
  EXPECT_EQ(ended(end_of(SIGSEGV | 0x80)).signal, SIGSEGV);  // with a core dump
}

TEST(ProcessTable, the_killer_is_who_sent_the_signal_it_died_of) {
  process_event event = end_of(SIGTERM);
  event.killer_signal = SIGTERM;
  event.killer_pid = 33;
  std::strcpy(event.killer, "slurmstepd");
  const ProcessUse use = ended(event);
  ASSERT_TRUE(use.killed_by);
  EXPECT_EQ(use.killed_by->pid, 33u);
  EXPECT_EQ(use.killed_by->name, "slurmstepd");
  event.status = SIGSEGV;  // it survived the SIGTERM
  EXPECT_FALSE(ended(event).killed_by);
  event.status = 0;
  EXPECT_FALSE(ended(event).killed_by);
}

TEST(ProcessTable, signals_of_keys_come_from_the_terminal_and_others_from_the_kernel) {
  const auto killer = [](int signal) {
    process_event event = end_of(signal);
    event.killer_signal = static_cast<uint32_t>(signal);
    const ProcessUse use = ended(event);
    return use.killed_by ? use.killed_by->name : "nobody";
  };
  EXPECT_EQ(killer(SIGINT), "terminal");
  EXPECT_EQ(killer(SIGQUIT), "terminal");
  EXPECT_EQ(killer(SIGHUP), "terminal");
  EXPECT_EQ(killer(SIGSEGV), "kernel");
  EXPECT_EQ(killer(SIGKILL), "kernel");
  EXPECT_EQ(killer(0), "nobody");
}

TEST(ProcessTable, the_oom_killer_kills_the_newest_process_of_a_pid_by_sigkill) {
  ProcessTable table;
  EXPECT_EQ(table.oom_killed(kPid, kStart + 2000), std::nullopt);  // not ours, as far as is known
  table.exec(exec_of("old"), ""sv);
  table.exec(exec_of("new", kPid, kStart + 1000), ""sv);
  table.exec(exec_of("below", kPid - 1), ""sv);
  EXPECT_EQ(table.oom_killed(kPid, kStart + 2000), "new");
  table.end(end_of(SIGKILL, kPid - 1));
  table.end(end_of(SIGKILL));
  table.end(end_of(SIGKILL, kPid, kStart + 1000));
  const std::vector<ProcessUse> processes = written(table);
  ASSERT_EQ(processes.size(), 3u);
  EXPECT_FALSE(processes[0].killed_by);
  EXPECT_FALSE(processes[1].killed_by);
  ASSERT_TRUE(processes[2].killed_by);
  EXPECT_EQ(processes[2].killed_by->name, "oom-killer");
  EXPECT_EQ(processes[2].killed_by->pid, 0u);
}

TEST(ProcessTable, an_oom_kill_before_or_after_a_process_was_of_another_one_with_its_pid) {
  ProcessTable table;
  table.exec(exec_of("train"), ""sv);
  EXPECT_EQ(table.oom_killed(kPid, kStart - 1), std::nullopt);
  const process_event end = end_of(SIGKILL);
  table.end(end);
  EXPECT_EQ(table.oom_killed(kPid, end.at + 1), std::nullopt);
  EXPECT_FALSE(one(table).killed_by);
}

TEST(ProcessTable, who_ends_well_in_spite_of_the_oom_killer_was_killed_by_nobody) {
  ProcessTable table;
  table.exec(exec_of("train"), ""sv);
  table.oom_killed(kPid, kStart + 1);
  table.end(end_of(0));
  EXPECT_FALSE(one(table).killed_by);
}

TEST(ProcessTable, peak_memory_is_known_if_it_grew_beyond_its_parents) {
  ProcessTable table;
  exec_event exec = exec_of("train");
  exec.maxrss = 100;  // of its parent, whose copy it was
  table.exec(exec, ""sv);
  process_event end = end_of(0);
  end.maxrss = 101;
  end.hiwater = 50;
  table.end(end);
  EXPECT_EQ(one(table).peak_rss, 101 * page());
}

TEST(ProcessTable, else_peak_memory_is_that_of_its_last_image_or_unknown) {
  ProcessTable table;
  exec_event exec = exec_of("train");
  exec.maxrss = 100;
  table.exec(exec, ""sv);
  process_event end = end_of(0);
  end.maxrss = 100;
  end.hiwater = 50;
  table.end(end);
  EXPECT_EQ(one(table).peak_rss, 50 * page());
  end.hiwater = 0;
  table.end(end);
  EXPECT_FALSE(one(table).peak_rss);
}

TEST(ProcessTable, peak_memory_of_a_living_process_is_the_kernels) {
  ProcessTable table;
  table.exec(exec_of("unit_tests", static_cast<uint32_t>(::getpid())), ""sv);
  EXPECT_GT(one(table).peak_rss.value_or(0), 100 * page());
}

TEST(ProcessTable, cpu_time_is_that_of_all_its_threads) {
  ProcessTable table;
  thread leader = thread_of(kPid, 1000), worker = thread_of(kPid + 1, 1100);
  leader.parts[REASON_CPU_USER] = 10;
  leader.state = THREAD_ON_CPU;
  leader.now = 1007;
  worker.parts[REASON_CPU_USER] = 100;
  worker.now = 1200;  // blocked: not on a CPU
  table.thread({leader, {}, false});
  table.thread({worker, {}, false});
  EXPECT_EQ(one(table).cpu, 117u);
  EXPECT_EQ(one(table).name, "train");
  worker.parts[REASON_CPU_USER] = 150;
  table.thread({worker, {}, true});  // in place of what it was
  EXPECT_EQ(one(table).cpu, 167u);
  leader.parts[REASON_CPU_USER] = 20;
  table.thread({leader, {}, true});
  table.end(end_of(0));
  EXPECT_EQ(one(table).cpu, 170u);
}

TEST(ProcessTable, a_process_watched_from_its_birth_began_at_its_start) {
  ProcessTable table;
  thread t = thread_of(kPid, kStart - 900);
  t.now = t.start + 300;
  table.thread({t, {}, false});
  const ProcessUse use = one(table, 1000);  // the clocks differ by so much
  EXPECT_EQ(use.start, kStart);
  EXPECT_EQ(use.lifetime, 400u);
}

TEST(ProcessTable, an_attached_process_began_when_the_watch_did) {
  ProcessTable table;
  thread t = thread_of(kPid, 2'000'000);
  t.attached = 1;
  t.now = t.start + 300;
  table.thread({t, {}, false});
  const ProcessUse use = one(table, 1000);
  EXPECT_EQ(use.start, 2'001'000u);
  EXPECT_EQ(use.lifetime, 300u);
}

TEST(ProcessTable, a_pid_used_again_is_another_process) {
  ProcessTable table;
  table.exec(exec_of("second", kPid, kStart + 1000), ""sv);
  table.end(end_of(1 << 8));
  const std::vector<ProcessUse> processes = written(table);
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_EQ(processes[0].exit_code, 1);
  EXPECT_EQ(processes[1].name, "second");
  EXPECT_FALSE(processes[1].exited);
}

TEST(ProcessTable, very_many_ended_processes_are_summed_by_name) {
  constexpr uint32_t kMax = ProcessTable::kMaxEnded, kMany = kMax + kMax / 10 + 1;
  ProcessTable table;
  exec_event exec = exec_of("train", kPid);
  exec.argv_full = 1;
  table.exec(exec, "train\0"sv);
  table.exec(exec_of("living", kPid + kMany), ""sv);
  for (uint32_t i = 0; i < kMany; ++i) {
    if (i == kMany - 1) {
      EXPECT_EQ(written(table).size(), kMany);  // not yet too many
    }
    process_event end = end_of(SIGKILL, kPid + i);
    end.maxrss = i == 3 ? 1000 : 10;
    if (i == kMany - 1) end.at += 2'000'000'000;  // the others' last records are in by then
    table.end(end);
  }
  const std::vector<ProcessUse> processes = written(table);
  ASSERT_EQ(processes.size(), kMax + 2);  // with the living one and the sum
  EXPECT_EQ(processes[kMax].name, "living");
  const ProcessUse& sum = processes.back();
  EXPECT_EQ(sum.name, "train");
  EXPECT_EQ(sum.processes, kMany - kMax);
  EXPECT_EQ(sum.pid, 0u);
  EXPECT_EQ(sum.lifetime, 500u * (kMany - kMax));
  EXPECT_EQ(sum.peak_rss, 1000 * page());
  EXPECT_FALSE(sum.signal);
  EXPECT_FALSE(sum.exit_code);
  EXPECT_THAT(sum.argv, IsEmpty());
  EXPECT_FALSE(sum.argv_truncated);
}

}  // namespace
}  // namespace jobscope
