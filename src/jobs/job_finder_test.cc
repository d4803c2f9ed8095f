#include "src/jobs/job_finder.h"

#include <gmock/gmock.h>

#include "src/jobs/fixture_processes_for_test.h"

namespace jobscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kSecond = 1'000'000'000;
const std::string kId(64, 'a');
const std::string kTorch =
    "7f0000000000-7f0000001000 r-xp 00000000 08:01 42 /usr/lib/python3/torch/lib/libtorch_cpu.so\n";

class JobFinderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(passwd()) << "root:x:0:0::/root:/bin/sh\nalice:x:1000:1000::/:/bin/sh\n";
    std::filesystem::create_directories(processes_.proc() + "/sys/kernel");
    std::ofstream(processes_.proc() + "/sys/kernel/hostname") << "node7\n";
    processes_.add({.pid = 1, .parent = 0, .argv = {"/sbin/init"}, .uid = 0, .start = 1});
    finder_ = std::make_unique<JobFinder>(places());
  }
  std::string passwd() const { return processes_.folder() + "/passwd"; }
  JobFinder::Places places() {
    JobFinder::Places places;
    places.proc = processes_.proc();
    places.cgroups = processes_.cgroups();
    places.passwd = passwd();
    places.now = [this] { return now_; };
    places.cgroup_path = [this](uint64_t id) { return id == 7 ? cgroup_ : std::string(); };
    return places;
  }
  void add(const FixtureProcess& process) { processes_.add(process); }
  void end(uint32_t pid) { processes_.end(pid); }
  // What is known is looked at again.
  void later(uint64_t ns = 2 * kSecond) { now_ += ns; }
  std::optional<JobLabels> of(uint32_t pid) { return finder_->of_process(pid); }
  JobLabels labels(uint32_t pid) { return of(pid).value_or(JobLabels{"no job"}); }
  std::string job(uint32_t pid) { return labels(pid).job; }

  FixtureProcesses processes_;
  uint64_t now_ = 1000 * kSecond;
  std::string cgroup_;
  std::unique_ptr<JobFinder> finder_;
};

TEST_F(JobFinderTest, a_process_of_no_job_has_none) {
  add({.pid = 10, .argv = {"/usr/bin/bash"}});
  EXPECT_FALSE(of(10));
  EXPECT_FALSE(of(1));
  EXPECT_FALSE(of(99));
  EXPECT_FALSE(of(0));
}

TEST_F(JobFinderTest, run_names_itself_and_all_below_it) {
  add({.pid = 10, .argv = {"jobscope", "run", "--name", "digits", "--", "x"}, .start = 50});
  add({.pid = 11, .parent = 10, .argv = {"python", "train.py"}, .environment = {"RANK=3"}});
  add({.pid = 12, .parent = 11, .argv = {"sh"}});
  const JobLabels expected{"digits", "alice", "", "", "10-50"};
  EXPECT_EQ(labels(12), expected);
  EXPECT_EQ(labels(10), expected);
  EXPECT_EQ(labels(11).index, "3");
}

TEST_F(JobFinderTest, run_comes_before_the_container_and_its_environment) {
  add({.pid = 10,
       .argv = {"jobscope", "run", "python", "a/lenet.py"},
       .environment = {"PAI_JOB_NAME=p", "PAI_USER_NAME=bob", "PAI_TASK_INDEX=2"},
       .cgroup = "0::/docker/" + kId + "\n",
       .start = 50});
  EXPECT_EQ(labels(10), (JobLabels{"lenet", "bob", "", "2", "10-50"}));
}

TEST_F(JobFinderTest, our_other_commands_are_no_jobs) {
  add({.pid = 10, .argv = {"jobscope", "agent"}, .cgroup = "0::/docker/" + kId + "\n"});
  add({.pid = 11, .argv = {"jobscope", "attach", "--pid", "1"}, .maps = kTorch});
  EXPECT_FALSE(of(10));
  EXPECT_FALSE(of(11));
}

TEST_F(JobFinderTest, openpai_tells_all_by_its_environment) {
  add({.pid = 10,
       .argv = {"python"},
       .environment = {"PAI_JOB_NAME=alice~mnist", "PAI_USER_NAME=bob",
                       "PAI_CURRENT_TASK_ROLE_NAME=worker", "FC_TASK_INDEX=1", "RANK=9",
                       "FC_FRAMEWORK_ATTEMPT_INSTANCE_UID=0_1234"},
       .cgroup = "0::/kubepods/burstable/podx/" + kId + "\n"});
  EXPECT_EQ(labels(10), (JobLabels{"alice~mnist", "bob", "worker", "1", "0_1234"}));
}

TEST_F(JobFinderTest, a_process_without_environment_has_that_of_the_one_above_in_its_container) {
  const std::string here = "0::/docker/" + kId + "\n";
  const std::string there = "0::/docker/" + std::string(64, 'b') + "\n";
  add({.pid = 10, .argv = {"a"}, .environment = {"PAI_JOB_NAME=mnist"}, .cgroup = here});
  add({.pid = 11, .parent = 10, .argv = {"b"}, .environment = {"HOME=/"}, .cgroup = here});
  add({.pid = 12, .parent = 10, .argv = {"c"}, .environment = {"HOME=/"}, .cgroup = there});
  EXPECT_EQ(labels(11), (JobLabels{"mnist", "alice", "", "", "aaaaaaaaaaaa"}));
  EXPECT_EQ(job(12), "bbbbbbbbbbbb");
}

TEST_F(JobFinderTest, slurm_tells_by_environment_or_cgroup) {
  add({.pid = 10,
       .argv = {"python"},
       .environment = {"SLURM_JOB_ID=17", "SLURM_JOB_NAME=resnet", "SLURM_JOB_USER=carol",
                       "SLURM_STEP_ID=0", "SLURM_PROCID=5"},
       .cgroup = "4:memory:/slurm/uid_1000/job_17/step_0/task_5\n"});
  EXPECT_EQ(labels(10), (JobLabels{"resnet", "carol", "", "5", "17.0"}));
  add({.pid = 11,
       .argv = {"sleep"},
       .cgroup = "0::/system.slice/node7_slurmstepd.scope/job_18/step_batch/user/task_0\n"});
  EXPECT_EQ(labels(11), (JobLabels{"slurm-18", "alice", "", "", "18.batch"}));
  add({.pid = 12, .argv = {"x"}, .cgroup = "4:memory:/slurm/uid_0/job_19/step_1\n"});
  EXPECT_EQ(labels(12), (JobLabels{"slurm-19", "root", "", "", "19.1"}));
}

TEST_F(JobFinderTest, a_pod_is_called_by_its_name_unless_it_has_the_hosts) {
  const std::string pod =
      "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + kId + ".scope\n";
  add({.pid = 10,
       .argv = {"python"},
       .environment = {"HOSTNAME=train-worker-1", "RANK=2", "WORLD_SIZE=4"},
       .cgroup = pod});
  EXPECT_EQ(labels(10), (JobLabels{"train", "alice", "", "2", "aaaaaaaaaaaa"}));
  add({.pid = 11, .argv = {"x"}, .environment = {"HOSTNAME=node7"}, .cgroup = pod});
  EXPECT_EQ(job(11), "aaaaaaaaaaaa");
  // elsewhere the name of the host says nothing
  add({.pid = 12,
       .argv = {"x"},
       .environment = {"HOSTNAME=box"},
       .cgroup = "0::/system.slice/docker-" + kId + ".scope\n"});
  EXPECT_EQ(job(12), "aaaaaaaaaaaa");
}

TEST_F(JobFinderTest, containerd_tells_a_containers_name_only_to_its_shim) {
  add({.pid = 10,
       .argv = {"/usr/bin/containerd-shim-runc-v2", "-namespace", "default", "-id", "redis"},
       .start = 20});
  add({.pid = 11, .parent = 10, .argv = {"redis-server"}, .cgroup = "0::/default/redis\n"});
  add({.pid = 12, .parent = 11, .argv = {"sh"}, .cgroup = "0::/default/redis\n"});
  EXPECT_EQ(labels(12), (JobLabels{"redis", "alice", "", "", "redis"}));
  EXPECT_FALSE(of(10));
}

TEST_F(JobFinderTest, a_framework_makes_a_job_of_the_tree_under_the_topmost_python) {
  add({.pid = 10, .argv = {"bash", "run.sh"}, .session = 10, .start = 10});
  add({.pid = 11, .parent = 10, .argv = {"python3", "launch.py"}, .session = 10, .start = 11});
  add({.pid = 12, .parent = 11, .argv = {"sh", "-c", "x"}, .session = 10, .start = 12});
  add({.pid = 13, .parent = 12, .argv = {"python3", "train.py"}, .maps = kTorch, .session = 10});
  add({.pid = 14, .parent = 13, .argv = {"git", "status"}, .session = 14});
  EXPECT_EQ(labels(14), (JobLabels{"launch", "alice", "", "", "11-11"}));
  later();
  for (const uint32_t pid : {11, 12, 13, 14}) EXPECT_EQ(job(pid), "launch") << pid;
  EXPECT_FALSE(of(10));
}

TEST_F(JobFinderTest, a_tree_does_not_reach_into_another_session_or_users_process) {
  add({.pid = 10, .argv = {"python3", "jupyter-lab"}, .session = 10, .start = 10});
  add({.pid = 11, .parent = 10, .argv = {"python3", "kernel.py"}, .maps = kTorch, .session = 11});
  EXPECT_EQ(job(11), "kernel");
  EXPECT_FALSE(of(10));
  add({.pid = 20, .argv = {"python3", "daemon.py"}, .uid = 0, .session = 10, .start = 10});
  add({.pid = 21, .parent = 20, .argv = {"python3", "train.py"}, .maps = kTorch, .session = 10});
  EXPECT_EQ(job(21), "train");
}

TEST_F(JobFinderTest, a_framework_in_another_language_names_its_own_program) {
  add({.pid = 10, .argv = {"/opt/serve"}, .maps = kTorch, .start = 7});
  EXPECT_EQ(labels(10), (JobLabels{"serve", "alice", "", "", "10-7"}));
  add({.pid = 11, .argv = {}, .maps = kTorch, .comm = "rewritten"});
  EXPECT_EQ(job(11), "rewritten");
}

TEST_F(JobFinderTest, no_job_is_asked_again_after_a_second) {
  add({.pid = 10, .argv = {"python3", "train.py"}});
  EXPECT_FALSE(of(10));
  std::ofstream(processes_.file(10, "maps")) << kTorch;
  later(kSecond / 2);
  EXPECT_FALSE(of(10));
  later(kSecond);
  EXPECT_EQ(job(10), "train");
}

TEST_F(JobFinderTest, memory_is_looked_at_ever_more_seldom) {
  add({.pid = 10, .argv = {"python3", "train.py"}});
  EXPECT_FALSE(of(10));
  later(400 * kSecond);
  EXPECT_FALSE(of(10));
  std::ofstream(processes_.file(10, "maps")) << kTorch;
  later(20 * kSecond);
  EXPECT_FALSE(of(10));
  later(11 * kSecond);
  EXPECT_EQ(job(10), "train");
}

TEST_F(JobFinderTest, a_process_that_has_ended_keeps_its_job_if_it_was_asked_before) {
  add({.pid = 10, .argv = {"jobscope", "run", "--name", "a", "x"}, .start = 5});
  add({.pid = 11, .parent = 10, .argv = {"x"}});
  EXPECT_EQ(job(11), "a");
  end(10);
  end(11);
  later(1000 * kSecond);
  EXPECT_EQ(job(11), "a");
}

TEST_F(JobFinderTest, a_child_that_lost_its_parent_keeps_its_job) {
  add({.pid = 10, .argv = {"jobscope", "run", "--name", "a", "x"}, .start = 5});
  add({.pid = 11, .parent = 10, .argv = {"sh"}});
  EXPECT_EQ(job(11), "a");
  end(10);
  later();
  add({.pid = 11, .parent = 1, .argv = {"sleep"}, .stack = 8192});  // and has begun a program
  EXPECT_EQ(job(11), "a");
  add({.pid = 12, .parent = 11, .argv = {"y"}});
  EXPECT_EQ(job(12), "a");
}

TEST_F(JobFinderTest, what_was_born_and_gone_before_anybody_looked_is_of_its_parents_job) {
  add({.pid = 10, .argv = {"jobscope", "run", "--name", "a", "x"}, .start = 5});
  finder_->born(10, 11);
  finder_->born(11, 12);  // both are gone by now
  EXPECT_EQ(job(11), "a");
  EXPECT_EQ(job(12), "a");
  add({.pid = 20, .argv = {"cron"}});
  finder_->born(20, 12);  // the number is used again
  EXPECT_FALSE(of(12));
}

TEST_F(JobFinderTest, a_number_that_is_used_again_is_another_process) {
  add({.pid = 10, .argv = {"jobscope", "run", "--name", "a", "x"}, .start = 5});
  add({.pid = 11, .parent = 10, .argv = {"x"}});
  EXPECT_EQ(job(10), "a");
  EXPECT_EQ(job(11), "a");
  later();
  add({.pid = 10, .argv = {"bash"}, .start = 900});
  add({.pid = 11, .argv = {"bash"}, .start = 900});
  EXPECT_FALSE(of(10));
  EXPECT_FALSE(of(11));
}

TEST_F(JobFinderTest, a_parent_younger_than_its_child_is_none) {
  add({.pid = 10, .argv = {"jobscope", "run", "--name", "a", "x"}, .start = 500});
  add({.pid = 11, .parent = 10, .argv = {"x"}, .start = 100});
  EXPECT_FALSE(of(11));
}

TEST_F(JobFinderTest, a_program_begun_later_brings_its_own_environment) {
  const std::string here = "0::/docker/" + kId + "\n";
  add({.pid = 10, .argv = {"sh"}, .environment = {"PAI_JOB_NAME=a"}, .cgroup = here});
  EXPECT_EQ(labels(10).index, "");
  later();
  add({.pid = 10,
       .argv = {"python"},
       .environment = {"PAI_JOB_NAME=a", "RANK=1"},
       .cgroup = here,
       .stack = 8192});
  EXPECT_EQ(labels(10).index, "1");
}

TEST_F(JobFinderTest, a_process_on_its_way_out_keeps_what_was_known) {
  add({.pid = 10, .argv = {"sh"}, .environment = {"PAI_JOB_NAME=a"}});
  EXPECT_EQ(job(10), "a");
  later();
  add({.pid = 10, .argv = {}, .stack = 0});
  EXPECT_EQ(job(10), "a");
  later();
  add({.pid = 10, .argv = {}, .stack = 0, .comm = "renamed"});
  EXPECT_EQ(job(10), "a");
}

TEST_F(JobFinderTest, a_thread_is_asked_for_its_process) {
  add({.pid = 10, .argv = {"jobscope", "run", "--name", "a", "x"}, .start = 5});
  add({.pid = 11, .argv = {"jobscope", "run", "--name", "a", "x"}, .start = 6, .of = 10});
  EXPECT_EQ(labels(11).instance, "10-5");
  end(11);
  later();
  EXPECT_EQ(labels(11).instance, "10-5");
}

TEST_F(JobFinderTest, a_thread_of_the_kernel_has_no_job) {
  add({.pid = 10, .argv = {}, .maps = kTorch, .flags = 0x00200000});
  EXPECT_FALSE(of(10));
}

TEST_F(JobFinderTest, processes_are_found_by_the_jobs_name) {
  add({.pid = 10, .argv = {"jobscope", "run", "--name", "a", "x"}, .start = 5});
  add({.pid = 12, .parent = 10, .argv = {"x"}});
  add({.pid = 11, .parent = 12, .argv = {"x"}, .start = 200});
  add({.pid = 20, .argv = {"jobscope", "run", "--name", "b", "x"}});
  EXPECT_THAT(finder_->processes_of("a"), ElementsAre(10, 11, 12));
  EXPECT_THAT(finder_->processes_of("c"), IsEmpty());
  end(12);
  later();
  EXPECT_THAT(finder_->processes_of("a"), ElementsAre(10, 11));
}

TEST_F(JobFinderTest, a_cgroup_is_of_the_job_that_its_processes_agree_on) {
  cgroup_ = "/job/train";
  const std::string folder = processes_.cgroups() + "/unified" + cgroup_;
  std::filesystem::create_directories(folder);
  add({.pid = 10, .argv = {"a"}, .environment = {"PAI_JOB_NAME=a", "RANK=0", "MS_ROLE=w"}});
  add({.pid = 11, .argv = {"a"}, .environment = {"PAI_JOB_NAME=a", "RANK=1", "MS_ROLE=w"}});
  std::ofstream(folder + "/cgroup.procs") << "10\n11\n";
  EXPECT_EQ(finder_->of_cgroup(7), (JobLabels{"a", "alice", "w", "", ""}));
  EXPECT_FALSE(finder_->of_cgroup(8));
  std::filesystem::remove_all(folder);
  cgroup_ = "";
  later();
  EXPECT_TRUE(finder_->of_cgroup(7));
}

TEST_F(JobFinderTest, a_cgroup_of_several_jobs_is_of_none) {
  cgroup_ = "/user.slice";
  const std::string folder = processes_.cgroups() + "/unified" + cgroup_;
  std::filesystem::create_directories(folder);
  add({.pid = 10, .argv = {"a"}, .environment = {"PAI_JOB_NAME=a"}});
  add({.pid = 11, .argv = {"b"}});
  std::ofstream(folder + "/cgroup.procs") << "10\n11\n";
  EXPECT_FALSE(finder_->of_cgroup(7));
}

TEST_F(JobFinderTest, an_empty_cgroup_is_of_what_its_path_says) {
  cgroup_ = "/system.slice/docker-" + kId + ".scope";
  EXPECT_EQ(finder_->of_cgroup(7), (JobLabels{"aaaaaaaaaaaa", "", "", "", "aaaaaaaaaaaa"}));
}

// Hostile or unlucky: nothing of it may stop the one who asks.

TEST_F(JobFinderTest, a_process_half_gone_has_no_job) {
  for (const char* file : {"status", "cmdline", "environ", "cgroup", "maps"}) {
    add({.pid = 10, .argv = {"x"}, .environment = {"A=1"}, .start = 7});
    std::filesystem::remove(processes_.file(10, file));
    later();
    EXPECT_FALSE(of(10)) << file;
  }
  add({.pid = 10, .argv = {"x"}});
  std::filesystem::remove(processes_.file(10, "cgroup"));
  std::filesystem::create_directory(processes_.file(10, "cgroup"));  // EISDIR
  later();
  EXPECT_FALSE(of(10));
}

TEST_F(JobFinderTest, a_job_is_known_without_the_file_of_its_cgroups) {
  add({.pid = 10, .argv = {"x"}, .environment = {"PAI_JOB_NAME=a"}});
  std::filesystem::remove(processes_.file(10, "cgroup"));
  EXPECT_EQ(job(10), "a");
}

TEST_F(JobFinderTest, an_environment_without_end_is_none) {
  add({.pid = 10, .argv = {"x"}});
  std::ofstream(processes_.file(10, "environ")) << std::string(10 << 20, 'x');
  EXPECT_FALSE(of(10));
  later();
  std::ofstream(processes_.file(10, "environ"))
      << "PAI_JOB_NAME=a" << '\0' << std::string(10 << 20, 'x');
  EXPECT_EQ(job(10), "a");
}

TEST_F(JobFinderTest, a_name_is_cut_and_its_bytes_left_as_they_are) {
  add({.pid = 10, .argv = {"jobscope", "run", "--name", std::string(5000, '\xff'), "x"}});
  EXPECT_EQ(job(10), std::string(256, '\xff'));
  add({.pid = 11, .argv = {"/" + std::string(5000, 'x')}, .maps = kTorch});
  EXPECT_EQ(job(11), std::string(256, 'x'));
}

TEST_F(JobFinderTest, parents_in_a_circle_end_somewhere) {
  add({.pid = 10, .parent = 11, .argv = {"a"}, .maps = kTorch});
  add({.pid = 11, .parent = 10, .argv = {"python3", "b.py"}});
  add({.pid = 12, .parent = 12, .argv = {"c"}});
  EXPECT_EQ(job(10), "b");
  EXPECT_FALSE(of(12));
}

TEST_F(JobFinderTest, of_a_long_chain_the_near_ones_are_asked) {
  add({.pid = 10, .argv = {"jobscope", "run", "--name", "a", "x"}});
  for (uint32_t pid = 11; pid < 500; ++pid) add({.pid = pid, .parent = pid - 1, .argv = {"sh"}});
  EXPECT_FALSE(of(499));
  EXPECT_EQ(job(110), "a");
}

TEST_F(JobFinderTest, a_user_of_slurm_without_end_is_told_as_somebody) {
  const std::string digits(200, '9');
  add({.pid = 10, .argv = {"x"}, .cgroup = "0::/slurm/uid_" + digits + "/job_" + digits + "\n"});
  EXPECT_EQ(job(10), "slurm-" + digits);
}

TEST_F(JobFinderTest, what_one_process_says_of_itself_does_not_touch_others) {
  add({.pid = 10, .argv = {"sh"}});
  add({.pid = 11, .parent = 10, .argv = {"x"}, .environment = {"PAI_JOB_NAME=a"}});
  add({.pid = 12, .parent = 10, .argv = {"y"}});
  EXPECT_EQ(job(11), "a");
  later();
  EXPECT_FALSE(of(10));
  EXPECT_FALSE(of(12));
}

TEST_F(JobFinderTest, those_asked_for_longest_ago_are_forgotten) {
  JobFinder::Places few = places();
  few.remembered = 256;
  finder_ = std::make_unique<JobFinder>(few);
  for (uint32_t pid = 1000; pid < 1300; ++pid) {
    add({.pid = pid, .argv = {"x"}, .environment = {"PAI_JOB_NAME=a"}});
    EXPECT_EQ(job(pid), "a");
    end(pid);
  }
  later();
  EXPECT_EQ(job(1299), "a");
  EXPECT_FALSE(of(1000));
}

TEST_F(JobFinderTest, ten_thousand_processes_are_told_apart) {
  constexpr uint32_t kJobs = 100, kEach = 100;
  for (uint32_t job = 1; job <= kJobs; ++job) {
    const uint32_t root = job * 1000;
    add({.pid = root, .argv = {"jobscope", "run", "--name", std::to_string(job), "x"}});
    for (uint32_t i = 1; i < kEach; ++i) add({.pid = root + i, .parent = root, .argv = {"x"}});
  }
  EXPECT_EQ(finder_->processes_of("17").size(), kEach);
  later();
  EXPECT_EQ(finder_->processes_of("99").size(), kEach);
}

TEST_F(JobFinderTest, of_many_processes_of_no_job_few_are_looked_into_at_a_time) {
  for (uint32_t pid = 1000; pid < 3000; ++pid) add({.pid = pid, .argv = {"x"}, .maps = kTorch});
  EXPECT_EQ(finder_->processes_of("x").size(), 499u);  // and the first process of all
  for (int i = 0; i < 4; ++i) {
    later();
    finder_->processes_of("x");
  }
  EXPECT_EQ(finder_->processes_of("x").size(), 2000u);
}

// Not a test of speed: prints what a question costs here.
TEST(JobFinderOnThisMachine, answers) {
  uint64_t now = monotonic_now();
  JobFinder::Places places;
  places.now = [&now] { return now; };
  JobFinder finder(places);
  const auto self = static_cast<uint32_t>(::getpid());
  const auto time = [&](const char* what, uint64_t step) {
    constexpr int kTimes = 1000;
    const uint64_t start = monotonic_now();
    for (int i = 0; i < kTimes; ++i) {
      now += step;
      finder.of_process(self);
    }
    printf("%s: %.2f us\n", what, static_cast<double>(monotonic_now() - start) / kTimes / 1000);
  };
  time("asked again at once", 1);
  time("asked again after 200 ms (no job: each second anew)", kSecond / 5);
  EXPECT_EQ(finder.of_process(self), finder.of_process(self));
  const uint64_t start = monotonic_now();
  const size_t none = finder.processes_of("there is no such job").size();
  printf("all processes: %.2f ms\n", static_cast<double>(monotonic_now() - start) / 1e6);
  EXPECT_EQ(none, 0u);
}

}  // namespace
}  // namespace jobscope
