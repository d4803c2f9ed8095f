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

TEST_F(JobFinderTest, a_number_that_is_used_again_is_another_process) {
  add({.pid = 10, .argv = {"jobscope", "run", "--name", "a", "x"}, .start = 5});
  EXPECT_EQ(job(10), "a");
  later();
  add({.pid = 10, .argv = {"bash"}, .start = 900});
  EXPECT_FALSE(of(10));
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

}  // namespace
}  // namespace jobscope
