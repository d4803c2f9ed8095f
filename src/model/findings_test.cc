#include "src/model/findings.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <limits>

#include "src/model/groups.h"
#include "src/model/sample_jobs_for_test.h"

namespace jobscope {
namespace {

using enum Reason;
using sample_jobs::kGiB;
using sample_jobs::kMiB;
using sample_jobs::process;
using sample_jobs::seconds;
using sample_jobs::thread;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

std::vector<std::string> ids(const Snapshot& snapshot) {
  std::vector<std::string> result;
  for (const auto& finding : find(snapshot)) result.push_back(finding.id);
  return result;
}

// The finding of this id; an empty one if there is none.
Finding only(const Snapshot& snapshot, const std::string& id) {
  for (auto& finding : find(snapshot))
    if (finding.id == id) return finding;
  return {};
}

// A job of one thread on eight CPUs that ran for ten seconds: `parts`, and the rest on the CPU. Two
// threads of a pool keep other CPUs busy, so that nothing is single-threaded.
Snapshot job(std::initializer_list<std::pair<Reason, double>> parts) {
  Snapshot s;
  s.job.name = "python3";
  s.job.argv = {"python3", "train.py"};
  s.job.exit_code = 0;
  s.job.elapsed = seconds(10);
  s.job.root_pid = 100;
  s.job.cpus = 8;
  s.threads = {thread({100, 100, "python3", 0, 10}, parts, cpu_user, {0, 1, 2, 3, 4, 5}),
               thread({100, 101, "pool-1", 0, 10}, {}, cpu_user, {0, 1, 2, 3, 4, 5}),
               thread({100, 102, "pool-2", 0, 10}, {}, cpu_user, {0, 1, 2, 3, 4, 5})};
  s.processes = {process(100, 1, "python3", s.job.argv, 10, 20, 400 * kMiB)};
  s.probes = sample_jobs::all_probes();
  return s;
}

void wait(Snapshot& s, Reason reason, const char* target, double time, uint64_t waits = 10) {
  s.waits.push_back({100, "python3", true, reason, target, seconds(time), waits});
}

void wake(Snapshot& s, Reason reason, uint32_t pid, uint32_t tid, const char* name, double time,
          uint64_t waits = 1000) {
  s.wakers.push_back({100, reason, pid, tid, name, seconds(time), waits});
}

TEST(Findings, need_evidence) {
  EXPECT_THAT(ids(Snapshot{}), IsEmpty());
  EXPECT_THAT(ids(job({})), IsEmpty());
  EXPECT_THAT(ids(sample_jobs::empty()), IsEmpty());
}

TEST(Findings, of_a_run_of_milliseconds_are_none) {
  for (size_t i = 0; i < kReasons; ++i) {
    Snapshot s;
    s.job.elapsed = seconds(0.003);
    s.job.root_pid = 7;
    s.job.cpus = 8;
    s.threads = {thread({7, 7, "x", 0, 0.003}, {}, static_cast<Reason>(i), {0})};
    EXPECT_THAT(ids(s), IsEmpty()) << name(static_cast<Reason>(i));
  }
}

TEST(Findings, are_ordered_by_share_and_unknown_ones_come_last) {
  Snapshot s = job({{fsync, 1}, {stolen, 3}, {gil, 2}});
  s.threads[1].yields = 1'000'000;  // no samples: a share nobody knows
  EXPECT_THAT(ids(s), ElementsAre("stolen", "gil", "storage", "yield_spin"));
}

TEST(Findings, all_have_words_and_proof) {
  for (const auto& snapshot :
       {sample_jobs::lenet(), sample_jobs::loader(), sample_jobs::fork_storm(),
        sample_jobs::out_of_memory(), sample_jobs::many_threads()})
    for (const auto& finding : find(snapshot)) {
      EXPECT_FALSE(finding.text.empty()) << finding.id;
      EXPECT_FALSE(finding.evidence.empty()) << finding.id;
      EXPECT_FALSE(finding.of.empty()) << finding.id;
      EXPECT_GE(finding.share, 0) << finding.id;
      EXPECT_LE(finding.share, 1) << finding.id;
    }
}

TEST(Findings, of_the_lenet_say_what_the_usual_tools_do_not) {
  EXPECT_THAT(ids(sample_jobs::lenet()), ElementsAre("handoff", "yield_spin", "lost_cpu"));
}

TEST(Killed, by_the_oom_killer_names_the_limit) {
  const Finding finding = only(sample_jobs::out_of_memory(), "killed");
  EXPECT_EQ(finding.of, "how the job ended");
  EXPECT_THAT(finding.text,
              HasSubstr("python3 (pid 17): the cgroup was at its memory limit of 8.00 GiB"));
  EXPECT_THAT(finding.evidence, Contains(Pair("its memory peak", "7.96 GiB")));
}

TEST(Killed, tells_how_many_more) {
  Snapshot s = job({});
  s.oom_kills = {{102, "b", "", {}, 20}, {101, "a", "", {}, 10}, {103, "c", "", {}, 30}};
  const Finding finding = only(s, "killed");
  EXPECT_THAT(finding.text, HasSubstr("killed a (pid 101): the machine ran out of memory. 2 more"));
  EXPECT_FALSE(finding.share_known());  // the job itself ended well
}

Snapshot signalled(int signal, const std::optional<Killer>& by) {
  Snapshot s = job({});
  s.job.exit_code.reset();
  s.job.signal = signal;
  s.processes[0].exit_code.reset();
  s.processes[0].signal = signal;
  s.processes[0].killed_by = by;
  return s;
}

TEST(Killed, by_a_signal_names_the_sender) {
  EXPECT_THAT(only(signalled(SIGKILL, Killer{12, "kubelet"}), "killed").text,
              HasSubstr("killed by SIGKILL, sent by kubelet (pid 12)"));
  EXPECT_THAT(only(signalled(SIGTERM, {}), "killed").text, HasSubstr("an unknown process"));
  EXPECT_THAT(only(signalled(SIGSEGV, Killer{0, "kernel"}), "killed").advice,
              HasSubstr("faulthandler"));
}

TEST(Killed, by_hand_is_not_a_finding) {
  EXPECT_THAT(ids(signalled(SIGINT, Killer{0, "terminal"})), IsEmpty());
  EXPECT_THAT(ids(signalled(SIGINT, {})), IsEmpty());
  EXPECT_THAT(ids(signalled(SIGINT, Killer{9, "supervisor"})), ElementsAre("killed"));
}

TEST(Killed, tells_of_a_child_that_crashed_but_not_of_one_that_its_parent_ended) {
  Snapshot s = job({});
  s.processes.push_back(process(200, 100, "pt_data_worker", {}, 5, 1, {}, {}));
  s.processes[1].signal = SIGKILL;
  s.processes[1].killed_by = Killer{100, "python3"};
  EXPECT_THAT(ids(s), IsEmpty());
  s.processes[1].killed_by = Killer{1, "systemd"};
  EXPECT_THAT(ids(s), ElementsAre("killed"));
  s.processes[1].signal = SIGBUS;
  s.processes[1].killed_by.reset();
  EXPECT_THAT(only(s, "killed").text, HasSubstr("pt_data_worker (pid 200) was killed by SIGBUS"));
}

TEST(Throttled, starts_at_two_percent_of_the_main_thread) {
  EXPECT_THAT(ids(job({{throttled, 0.19}})), IsEmpty());
  Snapshot s = job({{throttled, 2.5}});
  s.cgroup = CgroupUse{"/jobs/a", seconds(3), 1.5, {}};
  const Finding finding = only(s, "throttled");
  EXPECT_DOUBLE_EQ(finding.share, 0.25);
  EXPECT_THAT(finding.text,
              HasSubstr("CPU quota of 1.50 CPUs stopped the main thread for 2.50 s (25 %)"));
}

TEST(Throttled, believes_the_cgroup_where_threads_do_not_show_it) {
  Snapshot s = job({});
  s.cgroup = CgroupUse{"/jobs/a", seconds(0.4), {}, {}};
  EXPECT_THAT(ids(s), IsEmpty());
  s.cgroup->throttled = seconds(4);
  EXPECT_EQ(only(s, "throttled").of, "the elapsed time");
  s.cgroup->throttled.reset();
  EXPECT_THAT(ids(s), IsEmpty());
}

TEST(LostCpu, starts_at_five_percent_of_the_main_thread) {
  EXPECT_THAT(ids(job({{runqueue, 0.49}})), IsEmpty());
  EXPECT_THAT(ids(job({{runqueue, 0.51}})), ElementsAre("lost_cpu"));
}

TEST(LostCpu, is_others_when_the_job_has_no_more_threads_than_cpus) {
  EXPECT_THAT(
      only(job({{runqueue, 4}}), "lost_cpu").text,
      HasSubstr("Other processes held the CPUs: the job has only 3 busy threads for 8 CPUs"));
}

TEST(LostCpu, is_surely_others_when_the_job_has_no_cpu_time_to_explain_it) {
  Snapshot s = job({{runqueue, 9}});
  s.job.cpus = 2;
  s.threads.resize(1);
  EXPECT_THAT(only(s, "lost_cpu").text,
              HasSubstr("Other processes held the CPUs for at least 9.00 s of that: the job kept "
                        "only 0.1 of 2 CPUs busy"));
  // Three more threads that were on a CPU for 2.5 s each could explain all but 1.5 s of it.
  for (uint32_t i = 1; i < 4; ++i)
    s.threads.push_back(thread({100, 100 + i, "x", 0, 10}, {{cpu_user, 2.5}}, runqueue));
  EXPECT_THAT(only(s, "lost_cpu").text, HasSubstr("for at least 1.50 s of that"));
  s.threads[3].parts = s.threads[2].parts = s.threads[1].parts = {};
  for (int i = 1; i < 4; ++i) part(s.threads[i].parts, cpu_user) = seconds(4);
  EXPECT_THAT(only(s, "lost_cpu").text, HasSubstr("4 busy threads for 2 CPUs"));
}

TEST(LostCpu, says_that_a_thread_which_yields_waits_of_its_own_will) {
  Snapshot s = job({{runqueue, 4}});
  EXPECT_THAT(only(s, "lost_cpu").text, Not(HasSubstr("sched_yield")));
  s.threads[0].yield_wait = seconds(3);
  EXPECT_THAT(only(s, "lost_cpu").text, HasSubstr("waited 1.00 s"));
}

TEST(LostCpu, is_the_jobs_own_when_it_keeps_its_cpus_busy) {
  Snapshot s = job({{runqueue, 1}});
  s.job.cpus = 3;
  EXPECT_THAT(only(s, "lost_cpu").text,
              HasSubstr("The job itself held the CPUs: 3 busy threads on 3 CPUs"));
}

TEST(LostCpu, sees_threads_that_crowd_on_few_cores) {
  Snapshot s = job({});
  s.threads.clear();
  for (uint32_t i = 0; i < 4; ++i)
    s.threads.push_back(
        thread({100, 100 + i, "python3", 0, 10}, {{runqueue, 5}}, cpu_user, {0, 1}));
  EXPECT_THAT(only(s, "lost_cpu").text, HasSubstr("crowd on 2 of the 8 CPUs"));
}

TEST(LostCpu, counts_the_other_threads_too) {
  Snapshot s = job({});
  for (uint32_t i = 0; i < 16; ++i)
    s.threads.push_back(
        thread({100, 200 + i, "w", 0, 10}, {{runqueue, 5}}, cpu_user, {0, 1, 2, 3, 4, 5, 6, 7}));
  const Finding finding = only(s, "lost_cpu");
  EXPECT_EQ(finding.of, "the time its threads were ready to run");
  EXPECT_THAT(finding.text, HasSubstr("19 busy threads on 8 CPUs"));
}

TEST(OneFile, names_the_file_that_half_of_the_wait_was_for) {
  Snapshot s = job({{disk_read, 3}, {fsync, 0.5}});
  wait(s, disk_read, "/data/train.bin", 2.8, 140);
  wait(s, fsync, "/out/log", 0.5);
  const Finding finding = only(s, "one_file");
  EXPECT_DOUBLE_EQ(finding.share, 0.28);
  EXPECT_THAT(finding.text, HasSubstr("2.80 s (28 %) for one file: /data/train.bin"));
  EXPECT_THAT(finding.evidence, Contains(Pair("each", "20.0 ms")));
  EXPECT_THAT(finding.advice, HasSubstr("Read ahead"));
}

TEST(OneFile, is_storage_when_no_file_stands_out) {
  Snapshot s = job({{disk_read, 3}});
  wait(s, disk_read, "/data/1", 1.4);
  wait(s, disk_read, "/data/2", 1.4);
  EXPECT_THAT(ids(s), ElementsAre("storage"));
  EXPECT_THAT(ids(job({{disk_read, 0.9}})), IsEmpty());
}

TEST(PageFault, names_the_mapped_file_and_leaves_swap_to_its_own_rule) {
  Snapshot s = job({{page_fault, 2}});
  wait(s, page_fault, "/data/index.faiss", 1.5);
  EXPECT_THAT(only(s, "page_fault").text, HasSubstr("most of all /data/index.faiss"));
  wait(s, page_fault, "swap", 1.8);
  EXPECT_THAT(ids(s), ElementsAre("swap"));
  EXPECT_THAT(ids(job({{page_fault, 0.4}})), IsEmpty());
}

TEST(Memory, is_time_spent_in_reclaim) {
  EXPECT_THAT(ids(job({{memory, 0.2}})), IsEmpty());
  EXPECT_THAT(ids(job({{memory, 0.4}})), ElementsAre("memory"));
}

// The main thread waits for two workers that do `parts` with their time.
Snapshot with_loader(std::initializer_list<std::pair<Reason, double>> parts, Reason rest) {
  Snapshot s = job({{poll, 6}});
  for (uint32_t pid : {201, 202}) {
    s.threads.push_back(thread({pid, pid, "pt_data_worker", 0, 10}, parts, rest, {pid - 195}));
    s.processes.push_back(process(pid, 100, "pt_data_worker", {}, 10, 9, {}));
    wake(s, poll, pid, pid, "pt_data_worker", 2.9);
  }
  return s;
}

TEST(LoaderChildren, says_what_keeps_the_workers) {
  const Finding busy = only(with_loader({{disk_read, 1}}, cpu_user), "loader_children");
  EXPECT_DOUBLE_EQ(busy.share, 0.58);
  EXPECT_THAT(busy.text, HasSubstr("for its child processes pt_data_worker. They computed 90 %"));
  EXPECT_THAT(busy.advice, HasSubstr("num_workers"));
  EXPECT_THAT(only(with_loader({{cpu_user, 2}}, disk_read), "loader_children").text,
              HasSubstr("waited for files 80 %"));
  EXPECT_THAT(only(with_loader({{runqueue, 3}}, cpu_user), "loader_children").advice,
              HasSubstr("before there are CPUs"));
}

TEST(LoaderChildren, is_not_idleness) {
  EXPECT_THAT(ids(with_loader({}, cpu_user)), Not(Contains("idle_wait")));
}

TEST(LoaderChildren, counts_unnamed_threads_only_for_mindspore) {
  Snapshot s = job({{futex, 4}});
  s.threads.push_back(thread({100, 110, "python3", 0, 10}, {}, futex));
  wake(s, futex, 100, 110, "python3", 3.5);
  EXPECT_THAT(ids(s), ElementsAre("handoff"));
  s.threads.push_back(thread({100, 111, "ActorThread_0", 0, 10}, {}, futex));
  EXPECT_THAT(only(s, "loader_children").text, HasSubstr("unnamed threads of its own process"));
}

TEST(LoaderChildren, needs_ten_percent) {
  Snapshot s = job({{poll, 4}});
  s.processes.push_back(process(201, 100, "pt_data_worker", {}, 10, 9, {}));
  wake(s, poll, 201, 201, "pt_data_worker", 0.9);
  EXPECT_THAT(ids(s), IsEmpty());
}

TEST(Handoff, tells_how_often_and_how_long) {
  Snapshot s = job({{futex, 3}});
  wake(s, futex, 100, 101, "pool-1", 1.0, 50'000);
  wake(s, futex, 100, 102, "pool-2", 1.0, 50'000);
  const Finding finding = only(s, "handoff");
  EXPECT_THAT(finding.text, HasSubstr("2.00 s (20 %) for pool-*, 100,000 times, 20.0 µs each"));
  EXPECT_THAT(finding.advice, HasSubstr("small pieces"));
  EXPECT_THAT(finding.text, HasSubstr("Their own time: on a CPU 100 %."));
}

TEST(Handoff, of_large_pieces_has_no_advice) {
  Snapshot s = job({{futex, 3}});
  wake(s, futex, 100, 101, "pool-1", 2.0, 20);
  EXPECT_EQ(only(s, "handoff").advice, "");
}

TEST(Gil, counts_the_main_thread_or_many) {
  EXPECT_THAT(ids(job({{gil, 0.4}})), IsEmpty());
  EXPECT_EQ(only(job({{gil, 4}}), "gil").of, "the main thread's time");
  Snapshot s = job({{futex, 9.9}});
  for (uint32_t i = 0; i < 4; ++i)
    s.threads.push_back(thread({100, 110 + i, "python3", 0, 10}, {{cpu_user, 2.5}}, gil));
  const Finding finding = only(s, "gil");
  EXPECT_EQ(finding.of, "the time of 4 Python threads");
  EXPECT_DOUBLE_EQ(finding.share, 0.75);
}

TEST(Barrier, names_the_slow_thread) {
  Snapshot s = job({{barrier, 6}});
  for (uint32_t i = 0; i < 3; ++i)
    s.threads.push_back(
        thread({100, 110 + i, "python3", 0, 10}, {{barrier, i == 1 ? 0.1 : 6}}, cpu_user));
  const Finding finding = only(s, "barrier");
  EXPECT_DOUBLE_EQ(finding.share, 0.6);
  EXPECT_THAT(finding.text,
              HasSubstr("The slow one is python3 (tid 111): 9.90 s of CPU, the others 4.00 s"));
}

TEST(Barrier, of_even_threads_blames_nobody) {
  Snapshot s = job({{barrier, 3}});
  for (uint32_t i = 0; i < 3; ++i)
    s.threads.push_back(thread({100, 110 + i, "python3", 0, 10}, {{barrier, 3}}, cpu_user));
  EXPECT_THAT(only(s, "barrier").text, Not(HasSubstr("slow")));
}

TEST(Barrier, of_threads_that_are_idle_with_their_master_is_no_finding) {
  Snapshot s = job({{sleep, 4.9}, {disk_read, 0.2}, {pipe, 3}});
  s.threads.push_back(thread({100, 110, "python3", 0, 10}, {{cpu_user, 1}}, barrier));
  EXPECT_THAT(ids(s), Not(Contains("barrier")));
}

TEST(YieldSpin, takes_its_share_from_samples) {
  Snapshot s = job({});
  for (auto& t : s.threads) t.samples = 500;
  s.threads[1].yield_samples = 60;
  EXPECT_THAT(ids(s), IsEmpty());  // 4 %
  s.threads[2].yield_samples = 90;
  const Finding finding = only(s, "yield_spin");
  EXPECT_DOUBLE_EQ(finding.share, 0.1);
  EXPECT_THAT(finding.text, HasSubstr("3.00 s (10 %)"));
  EXPECT_THAT(finding.text, HasSubstr("pool-* (100 %)"));
}

TEST(YieldSpin, without_samples_does_not_guess_a_share) {
  Snapshot s = job({});
  s.threads[0].yields = 29'000;
  EXPECT_THAT(ids(s), IsEmpty());
  s.threads[0].yields = 31'000;
  EXPECT_FALSE(only(s, "yield_spin").share_known());
}

TEST(ForkStorm, counts_what_samplers_miss) {
  const Finding finding = only(sample_jobs::fork_storm(), "fork_storm");
  EXPECT_THAT(finding.text, HasSubstr("10,000 processes"));
  EXPECT_THAT(finding.text, HasSubstr("true (10,000)"));
  EXPECT_THAT(finding.evidence, Contains(Pair("per second", "1,190")));
  EXPECT_NEAR(finding.share, 13.7 / 23.55, 0.01);
}

TEST(ForkStorm, is_not_a_few_helpers) {
  Snapshot s = job({});
  for (uint32_t i = 0; i < 99; ++i)
    s.processes.push_back(process(1000 + i, 100, "sh", {}, 0.01, 0.05, {}));
  EXPECT_THAT(ids(s), IsEmpty());
  s.processes.push_back(process(2000, 100, "sh", {}, 0.01, 0.05, {}));
  EXPECT_THAT(ids(s), ElementsAre("fork_storm"));
}

TEST(Stolen, is_two_percent_of_the_main_thread_or_of_all) {
  EXPECT_THAT(ids(job({{stolen, 0.19}})), IsEmpty());
  EXPECT_THAT(only(job({{stolen, 0.3}}), "stolen").text,
              HasSubstr("300 ms (3.0 %) from the main thread"));
  Snapshot s = job({});
  s.threads.push_back(thread({100, 110, "x", 0, 10}, {{stolen, 2}}, cpu_user));
  EXPECT_EQ(only(s, "stolen").of, "the time its threads held a CPU");
}

Snapshot alone(std::initializer_list<std::pair<Reason, double>> parts) {
  Snapshot s = job(parts);
  s.threads.resize(1);
  return s;
}

TEST(SingleThreaded, is_one_busy_core_of_many) {
  EXPECT_THAT(only(alone({}), "single_threaded").text, HasSubstr("while 1.0 of 8 CPUs were busy"));
  EXPECT_THAT(ids(job({})), IsEmpty());
  Snapshot s = alone({});
  s.job.cpus = 1;
  EXPECT_THAT(ids(s), IsEmpty());
  s.job.cpus = 0;  // unknown
  EXPECT_THAT(ids(s), IsEmpty());
}

TEST(SingleThreaded, is_not_said_of_the_thread_that_feeds_an_accelerator) {
  EXPECT_THAT(ids(alone({{accelerator, 0.2}})), IsEmpty());
  EXPECT_THAT(ids(alone({{accelerator, 4}})), ElementsAre("accelerator"));
}

TEST(IdleWait, names_what_it_waited_for) {
  Snapshot s = job({{net_recv, 5}, {sleep, 1}});
  wait(s, net_recv, "10.2.0.9:443", 4.8);
  const Finding finding = only(s, "idle_wait");
  EXPECT_DOUBLE_EQ(finding.share, 0.6);
  EXPECT_THAT(finding.text, HasSubstr("mostly network receive (10.2.0.9:443)"));
  EXPECT_THAT(finding.advice, HasSubstr("other side"));
  EXPECT_THAT(ids(job({{sleep, 4.9}})), IsEmpty());
}

TEST(Stopped, is_told) { EXPECT_THAT(ids(job({{stopped, 2}})), ElementsAre("stopped")); }

TEST(Findings, survive_figures_that_cannot_be) {
  Snapshot s = job({});
  for (auto& t : s.threads) {
    t.parts.fill(UINT64_MAX / 3);
    t.samples = 100, t.yield_samples = UINT64_MAX;
  }
  s.job.elapsed = 0;
  s.cgroup = CgroupUse{"", UINT64_MAX, std::numeric_limits<double>::infinity(), 0};
  wake(s, futex, 100, 101, "pool-1", 1, 0);
  EXPECT_FALSE(find(s).empty());
}

TEST(SignalName, is_the_one_people_know) {
  EXPECT_EQ(signal_name(SIGKILL), "SIGKILL");
  EXPECT_EQ(signal_name(SIGSYS), "SIGSYS");
  EXPECT_EQ(signal_name(SIGSTKFLT), "SIGSTKFLT");
  EXPECT_EQ(signal_name(40), "signal 40");
  EXPECT_EQ(signal_name(-1), "signal -1");
}

}  // namespace
}  // namespace jobscope
