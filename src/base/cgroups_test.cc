#include "src/base/cgroups.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace jobscope {
namespace {

// A machine under tests/fixtures/cgroup.
CgroupSources machine(const std::string& name) {
  const std::string root = std::string(JOBSCOPE_SOURCE_DIR) + "/tests/fixtures/cgroup/" + name;
  return {root + "/proc", root};
}

uint64_t inode(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_ino;
}

constexpr uint64_t kGiB = 1ull << 30;

TEST(CgroupsV2, a_process_is_in_the_unified_hierarchy) {
  const auto place = cgroup_of(42, machine("v2"));
  ASSERT_TRUE(place);
  EXPECT_EQ(*place, (CgroupPlace{"/job.slice/train.scope", {}, {}}));
  EXPECT_EQ(place->path(), "/job.slice/train.scope");
}

TEST(CgroupsV2, the_least_limit_of_all_above_holds_and_groups_without_one_throttle_nobody) {
  const CgroupSources v2 = machine("v2");
  const CgroupLedger ledger = read_cgroup(*cgroup_of(42, v2), v2);
  EXPECT_EQ(ledger.cpu_limit, 1.5);
  EXPECT_EQ(ledger.memory_limit, 1 * kGiB);
  EXPECT_EQ(ledger.throttled_ns, 5'007'000u);
}

// As in a container, whose own group is the root of what it sees.
TEST(CgroupsV2, the_root_counts_once) {
  const CgroupSources v2 = machine("v2");
  const CgroupLedger ledger = read_cgroup(*cgroup_of(43, v2), v2);
  EXPECT_EQ(ledger.cpu_limit, 2.0);
  EXPECT_EQ(ledger.memory_limit, 4 * kGiB);
  EXPECT_EQ(ledger.throttled_ns, 7000u);
}

TEST(CgroupsV2, a_group_is_found_by_its_id) {
  const CgroupSources v2 = machine("v2");
  const std::string mount = v2.root + "/sys/fs/cgroup";
  EXPECT_EQ(memory_cgroup_path(inode(mount + "/job.slice/train.scope"), v2),
            "/job.slice/train.scope");
  EXPECT_EQ(memory_cgroup_path(inode(mount), v2), "/");
  EXPECT_EQ(memory_cgroup_path(inode(mount + "/memory.max"), v2), "");  // no group
}

TEST(CgroupsV1, a_process_has_a_place_in_each_controllers_hierarchy) {
  const auto place = cgroup_of(42, machine("v1"));
  ASSERT_TRUE(place);
  EXPECT_EQ(*place, (CgroupPlace{{}, "/job/train:2", "/job"}));
  EXPECT_EQ(place->path(), "/job/train:2");
}

TEST(CgroupsV1, the_limits_are_of_both_controllers) {
  const CgroupSources v1 = machine("v1");
  const CgroupLedger ledger = read_cgroup(*cgroup_of(42, v1), v1);
  EXPECT_EQ(ledger.cpu_limit, 3.0);
  EXPECT_EQ(ledger.memory_limit, 2 * kGiB);
  EXPECT_EQ(ledger.throttled_ns, 4242u);
}

TEST(CgroupsV1, without_limits_nothing_is_told) {
  const CgroupSources v1 = machine("v1");
  const CgroupLedger ledger = read_cgroup(*cgroup_of(43, v1), v1);
  EXPECT_FALSE(ledger.cpu_limit);
  EXPECT_FALSE(ledger.memory_limit);  // the huge number stands for "none"
  EXPECT_FALSE(ledger.throttled_ns);
}

TEST(CgroupsV1, a_group_is_found_in_the_memory_hierarchy) {
  const CgroupSources v1 = machine("v1");
  const std::string mount = v1.root + "/sys/fs/cgroup";
  EXPECT_EQ(memory_cgroup_path(inode(mount + "/memory/job"), v1), "/job");
  EXPECT_EQ(memory_cgroup_path(inode(mount + "/cpu,cpuacct/job"), v1), "");
}

TEST(CgroupsHybrid, the_hierarchy_that_says_more_is_shown) {
  const CgroupSources hybrid = machine("hybrid");
  const auto container = cgroup_of(42, hybrid);
  ASSERT_TRUE(container);
  EXPECT_EQ(*container, (CgroupPlace{"/", "/docker/abc", "/docker/abc"}));
  EXPECT_EQ(container->path(), "/docker/abc");
  EXPECT_EQ(cgroup_of(43, hybrid)->path(), "/init.scope");
}

TEST(CgroupsHybrid, the_limits_are_those_of_the_old_controllers) {
  const CgroupSources hybrid = machine("hybrid");
  const CgroupLedger ledger = read_cgroup(*cgroup_of(42, hybrid), hybrid);
  EXPECT_EQ(ledger.cpu_limit, 0.5);
  EXPECT_EQ(ledger.memory_limit, kGiB / 4);
  EXPECT_EQ(ledger.throttled_ns, 17u);
}

TEST(Cgroups, a_process_that_is_gone_has_no_place) {
  for (const char* name : {"v1", "v2", "hybrid"})
    EXPECT_FALSE(cgroup_of(99, machine(name))) << name;
}

TEST(Cgroups, without_any_hierarchy_nothing_is_told) {
  const CgroupSources none = machine("no such machine");
  EXPECT_FALSE(cgroup_of(42, none));
  EXPECT_EQ(memory_cgroup_path(1, none), "");
  EXPECT_FALSE(read_cgroup({"/a", "/a", "/a"}, none).cpu_limit);
}

TEST(CgroupPlace, shows_the_memory_controllers_path_if_it_has_no_other) {
  EXPECT_EQ((CgroupPlace{{}, {}, "/m"}.path()), "/m");
  EXPECT_EQ((CgroupPlace{"/", {}, {}}.path()), "/");
  EXPECT_EQ(CgroupPlace{}.path(), "");
}

}  // namespace
}  // namespace jobscope
