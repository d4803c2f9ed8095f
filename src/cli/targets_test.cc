#include "src/cli/targets.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace jobscope {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr const char* kContainer = "0123456789abcdef0123";

class TargetsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "targets_test." + std::to_string(::getpid());
    fs::remove_all(folder_);
    sources_ = {folder_ + "/proc", folder_ + "/cgroup"};
    fs::create_directories(sources_.cgroups);
    add(1, 0, "systemd", "0::/init.scope\n");
    add(100, 1, "python", "0::/job/train\n");
    add(101, 100, "worker", "0::/job/train\n");
    add(102, 101, "worker (old) S 1", "0::/elsewhere\n");
    add(200, 1, "python", "0::/jobs\n");
    add(300, 1, "node", std::string("4:memory:/\n3:cpu:/docker/") + kContainer + "\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void add(uint32_t pid, uint32_t parent, const std::string& comm, const std::string& cgroup,
           char state = 'S') {
    const std::string process = sources_.proc + "/" + std::to_string(pid);
    fs::create_directories(process);
    std::ofstream(process + "/stat")
        << pid << " (" << comm << ") " << state << " " << parent << " 0\n";
    std::ofstream(process + "/comm") << comm << "\n";
    std::ofstream(process + "/cgroup") << cgroup;
  }
  std::vector<uint32_t> find(const Target& target) const {
    const auto found = find_processes(target, sources_);
    return found ? *found : std::vector<uint32_t>{};
  }
  std::string name(const Target& target, const std::vector<uint32_t>& pids) const {
    return target_name(target, pids, sources_);
  }
  void unified() const {
    std::ofstream(sources_.cgroups + "/cgroup.controllers") << "cpu memory\n";
  }

  std::string folder_;
  TargetSources sources_;
};

TEST_F(TargetsTest, a_pid_means_it_and_all_below_it) {
  EXPECT_THAT(find({.pid = 100}), ElementsAre(100, 101, 102));
  EXPECT_THAT(find({.pid = 101}), ElementsAre(101, 102));
  EXPECT_THAT(find({.pid = 102}), ElementsAre(102));
}

TEST_F(TargetsTest, a_name_means_each_process_that_has_it) {
  EXPECT_THAT(find({.comm = "python"}), UnorderedElementsAre(100, 101, 102, 200));
  EXPECT_THAT(find({.comm = "worker (old) S 1"}), IsEmpty());  // the kernel keeps 15 bytes
  add(400, 1, "0123456789abcde", "");
  EXPECT_THAT(find({.comm = "0123456789abcdefgh"}), ElementsAre(400));
  EXPECT_THAT(find({.comm = "pytho"}), IsEmpty());
}

TEST_F(TargetsTest, nobody_is_meant_twice) {
  add(103, 100, "python", "");
  EXPECT_THAT(find({.comm = "python"}), UnorderedElementsAre(100, 101, 102, 103, 200));
}

TEST_F(TargetsTest, those_that_ended_and_ourselves_are_not_meant) {
  add(104, 100, "python", "0::/job/train\n", 'Z');
  add(static_cast<uint32_t>(::getpid()), 100, "python", "0::/job/train\n");
  EXPECT_THAT(find({.pid = 100}), ElementsAre(100, 101, 102));
  EXPECT_THAT(find({.pid = 104}), IsEmpty());
}

TEST_F(TargetsTest, a_control_group_means_those_in_and_below_it) {
  for (const char* group : {"/job", "job", "/job/", "/job/train", "job/train//"})
    EXPECT_THAT(find({.cgroup = group}), ElementsAre(100, 101, 102)) << group;
  EXPECT_THAT(find({.cgroup = "/jobs"}), ElementsAre(200));
  EXPECT_THAT(find({.cgroup = "/jo"}), IsEmpty());
  EXPECT_EQ(find({.cgroup = "/"}).size(), 6u);
}

TEST_F(TargetsTest, a_control_group_may_be_named_by_its_directory) {
  EXPECT_THAT(find({.cgroup = sources_.cgroups + "/cpu/docker"}), ElementsAre(300));  // v1
  EXPECT_EQ(find({.cgroup = sources_.cgroups + "/cpu"}).size(), 6u);
  unified();
  EXPECT_THAT(find({.cgroup = sources_.cgroups + "/job/train"}), ElementsAre(100, 101, 102));
  EXPECT_THAT(find({.cgroup = sources_.cgroups + "/cpu/docker"}), IsEmpty());
}

TEST_F(TargetsTest, a_container_is_known_by_the_beginning_of_its_id) {
  EXPECT_THAT(find({.container = std::string(kContainer).substr(0, 12)}), ElementsAre(300));
  EXPECT_THAT(find({.container = "fedcba987654"}), IsEmpty());
}

TEST_F(TargetsTest, an_error_says_what_is_not_there) {
  const auto what = [&](const Target& target) {
    return find_processes(target, sources_).error().what;
  };
  EXPECT_THAT(what({.pid = 9}), HasSubstr("process 9"));
  EXPECT_THAT(what({.cgroup = "/none"}), HasSubstr("control group '/none'"));
  EXPECT_THAT(what({.container = "none"}), HasSubstr("container 'none'"));
  EXPECT_THAT(what({.comm = "none"}), HasSubstr("named 'none'"));
}

TEST_F(TargetsTest, a_report_calls_the_job_by_its_target) {
  EXPECT_EQ(name({.pid = 100}, {100, 101}), "python");
  EXPECT_EQ(name({.pid = 9}, {9}), "pid 9");  // gone meanwhile
  EXPECT_EQ(name({.comm = "node"}, {300}), "node");
  EXPECT_EQ(name({.container = kContainer}, {300}), "0123456789ab");
  EXPECT_EQ(name({.cgroup = "/job/train"}, {100}), "train");
  EXPECT_EQ(name({.cgroup = "/job/train/"}, {100}), "train");
  EXPECT_EQ(name({.cgroup = "/"}, {1}), "/");
}

}  // namespace
}  // namespace jobscope
