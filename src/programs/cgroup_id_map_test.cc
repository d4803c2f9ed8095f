#include "src/programs/cgroup_id_map.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <bpf/bpf.h>

#include <filesystem>
#include <optional>

#include "src/base/fd.h"
#include "src/base/folder_for_test.h"

namespace jobscope {
namespace {

bool match(const std::vector<std::string>& patterns, const std::string& path) {
  const auto made = CgroupPatterns::make(patterns, "/sys/fs/cgroup");
  EXPECT_TRUE(made);
  return made && made->match(path);
}

TEST(CgroupPatterns, are_found_anywhere_in_the_path) {
  EXPECT_TRUE(match({"^.*(system.slice/.*)$"}, "/system.slice/sshd.service"));
  EXPECT_FALSE(match({"^.*(system.slice/.*)$"}, "/system.slice"));
  EXPECT_TRUE(match({"docker"}, "/a/docker/b"));
  EXPECT_FALSE(match({"docker$"}, "/a/docker/b"));
  EXPECT_TRUE(match({"x", "b$"}, "/a/docker/b"));
  EXPECT_FALSE(match({}, "/a"));
}

TEST(CgroupPatterns, begin_at_either_root) {
  EXPECT_TRUE(match({"^/sys/fs/cgroup/a$"}, "/a"));
  EXPECT_TRUE(match({"^/a$"}, "/a"));
  EXPECT_TRUE(match({"^/sys/fs/cgroup$"}, "/"));
  EXPECT_TRUE(match({"^/$"}, "/"));
  EXPECT_FALSE(match({"^a$"}, "/a"));
}

TEST(CgroupPatterns, that_are_none_are_refused) {
  const auto bad = CgroupPatterns::make({"a", "(b"}, "/");
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().what.find("'(b'"), std::string::npos) << bad.error().what;
}

// With a map of the kernel's, for which it may want privileges, and a folder in the place of a
// hierarchy.
class CgroupIdMapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    map_ = Fd(bpf_map_create(BPF_MAP_TYPE_HASH, "ids", 8, 8, 2, nullptr));
    if (!map_) GTEST_SKIP() << "no BPF maps for us here: " << std::strerror(errno);
  }
  uint64_t make_cgroup(const std::string& path) const {
    std::filesystem::create_directories(folder_.path() + path);
    struct stat info {};
    EXPECT_EQ(::stat((folder_.path() + path).c_str(), &info), 0);
    return info.st_ino;
  }
  void remove(const std::string& path) const { std::filesystem::remove_all(folder_.path() + path); }
  std::optional<uint64_t> value(uint64_t id) const {
    uint64_t found = 0;
    if (bpf_map_lookup_elem(map_.get(), &id, &found) != 0) return std::nullopt;
    return found;
  }
  Result<CgroupIdMap> make(const CgroupIdMapConfig& config) const {
    return CgroupIdMap::make(config, map_.get(), folder_.path());
  }

  TestFolder folder_;
  Fd map_;
};

TEST_F(CgroupIdMapTest, holds_those_that_match_while_they_live) {
  const uint64_t a = make_cgroup("/job/a"), other = make_cgroup("/other");
  auto tree = CgroupTree::open(folder_.path());
  ASSERT_TRUE(tree);
  auto ids = make({.name = "ids", .regexps = {"/job/"}});
  ASSERT_TRUE(ids) << ids.error().what;
  ids->begin(**tree);
  EXPECT_EQ(value(a), 1u);
  EXPECT_FALSE(value(other));
  const uint64_t b = make_cgroup("/job/b"), job = make_cgroup("/job");
  remove("/job/a");
  ids->apply((*tree)->drain(0));
  EXPECT_FALSE(value(a));
  EXPECT_EQ(value(b), 1u);
  EXPECT_FALSE(value(job));
  EXPECT_EQ(ids->failures(), 0u) << ids->last_failure();
}

TEST_F(CgroupIdMapTest, counts_what_it_has_no_room_for) {
  for (const char* path : {"/job/a", "/job/b", "/job/c"}) make_cgroup(path);
  auto tree = CgroupTree::open(folder_.path());
  ASSERT_TRUE(tree);
  auto ids = make({.name = "ids", .regexps = {"/job/"}});
  ASSERT_TRUE(ids);
  ids->begin(**tree);
  EXPECT_EQ(ids->failures(), 1u);
  EXPECT_NE(ids->last_failure().find("/job/"), std::string::npos) << ids->last_failure();
}

TEST_F(CgroupIdMapTest, wants_the_map_that_the_configuration_says) {
  EXPECT_FALSE(make({.name = "ids", .cgroup_storage = true, .regexps = {"x"}}));
  EXPECT_FALSE(make({.name = "ids", .regexps = {"("}}));
  map_ = Fd(bpf_map_create(BPF_MAP_TYPE_HASH, "ids", 4, 8, 2, nullptr));
  EXPECT_FALSE(make({.name = "ids", .regexps = {"x"}}));
  map_ = Fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "ids", 4, 8, 2, nullptr));
  EXPECT_FALSE(make({.name = "ids", .regexps = {"x"}}));
  map_ = Fd();
  EXPECT_FALSE(make({.name = "ids", .regexps = {"x"}}));
}

}  // namespace
}  // namespace jobscope
