#include "src/base/cgroup_tree.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "src/base/folder_for_test.h"

namespace jobscope {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Event = CgroupTree::Event;

// A folder in the place of a hierarchy: it too has inodes and tells of its changes.
class CgroupTreeTest : public ::testing::Test {
 protected:
  void open(CgroupTree::Limits limits = {}) {
    auto tree = CgroupTree::open(root_, limits);
    ASSERT_TRUE(tree) << tree.error().what;
    tree_ = std::move(*tree);
  }
  // Returns the id.
  uint64_t make(const std::string& path) const {
    fs::create_directories(root_ + path);
    return id(path);
  }
  uint64_t id(const std::string& path) const {
    struct stat info {};
    EXPECT_EQ(::stat((root_ + path).c_str(), &info), 0) << path;
    return info.st_ino;
  }
  void remove(const std::string& path) const { fs::remove_all(root_ + path); }
  std::vector<Event> drain() { return tree_->drain(now_); }
  std::string path(uint64_t id) const { return tree_->path(id); }

  TestFolder folder_;
  std::string root_ = folder_.path();
  uint64_t now_ = 0;
  std::unique_ptr<CgroupTree> tree_;
};

TEST_F(CgroupTreeTest, what_is_there_is_known_from_the_start) {
  const uint64_t c = make("/a/b/c"), d = make("/d");
  std::ofstream(root_ + "/a/cgroup.procs") << "1\n";
  open();
  EXPECT_EQ(path(c), "/a/b/c");
  EXPECT_EQ(path(d), "/d");
  EXPECT_EQ(path(id("")), "/");
  EXPECT_EQ(path(id("/a/cgroup.procs")), "");
  EXPECT_EQ(path(0), "");
  EXPECT_EQ(tree_->living().size(), 5u);
  EXPECT_THAT(drain(), IsEmpty());
}

TEST_F(CgroupTreeTest, what_comes_later_is_told_and_known) {
  open();
  const uint64_t a = make("/a");
  pollfd readable{tree_->fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&readable, 1, 0), 1);
  EXPECT_EQ(path(a), "");
  EXPECT_THAT(drain(), ElementsAre(Event{Event::added, a, "/a"}));
  EXPECT_EQ(path(a), "/a");
  const uint64_t b = make("/a/b");
  EXPECT_THAT(drain(), ElementsAre(Event{Event::added, b, "/a/b"}));
  EXPECT_EQ(::poll(&readable, 1, 0), 0);
}

TEST_F(CgroupTreeTest, what_is_made_in_one_go_is_not_missed) {
  open();
  const uint64_t c = make("/a/b/c");
  EXPECT_THAT(drain(), ElementsAre(Event{Event::added, id("/a"), "/a"},
                                   Event{Event::added, id("/a/b"), "/a/b"},
                                   Event{Event::added, c, "/a/b/c"}));
  EXPECT_EQ(path(c), "/a/b/c");
}

TEST_F(CgroupTreeTest, what_is_gone_keeps_its_path) {
  const uint64_t a = make("/a"), b = make("/a/b");
  open();
  remove("/a");
  EXPECT_THAT(drain(),
              ElementsAre(Event{Event::removed, b, "/a/b"}, Event{Event::removed, a, "/a"}));
  EXPECT_EQ(path(b), "/a/b");
  EXPECT_EQ(tree_->living().size(), 1u);
}

TEST_F(CgroupTreeTest, of_those_gone_the_last_are_remembered) {
  open({.removed = 2});
  std::vector<uint64_t> ids;
  for (const char* name : {"/a", "/b", "/c"}) ids.push_back(make(name));
  drain();
  for (const char* name : {"/a", "/b", "/c"}) remove(name);
  EXPECT_EQ(drain().size(), 3u);
  EXPECT_EQ(path(ids[0]), "");
  EXPECT_EQ(path(ids[1]), "/b");
  EXPECT_EQ(path(ids[2]), "/c");
}

TEST_F(CgroupTreeTest, one_of_the_same_name_is_another) {
  const uint64_t old = make("/a/x");
  open();
  fs::rename(root_ + "/a", root_ + ".old");  // so that no inode is used again
  const uint64_t now = make("/a"), below = make("/a/y");
  drain();
  fs::remove_all(root_ + ".old");
  EXPECT_EQ(path(now), "/a");
  EXPECT_EQ(path(below), "/a/y");
  EXPECT_EQ(path(old), "/a/x");
  const uint64_t later = make("/a/z");  // it is watched too
  EXPECT_THAT(drain(), ElementsAre(Event{Event::added, later, "/a/z"}));
}

TEST_F(CgroupTreeTest, a_name_that_goes_and_comes_ends_as_it_is) {
  open();
  for (int i = 0; i < 100; ++i) {
    make("/a/b");
    remove("/a");
  }
  const uint64_t b = make("/a/b");
  drain();
  EXPECT_EQ(path(b), "/a/b");
  EXPECT_EQ(tree_->living().size(), 3u);
  remove("/a");
  drain();
  EXPECT_EQ(tree_->living().size(), 1u);
}

TEST_F(CgroupTreeTest, renamed_ones_take_those_below_along) {
  const uint64_t b = make("/a/b");
  open();
  fs::rename(root_ + "/a", root_ + "/z");
  drain();
  EXPECT_EQ(path(b), "/z/b");
  EXPECT_EQ(tree_->living().size(), 3u);
}

TEST_F(CgroupTreeTest, five_thousand_come_and_go) {
  for (int i = 0; i < 2500; ++i) make("/old/" + std::to_string(i));
  open();
  std::vector<uint64_t> ids;
  for (int i = 0; i < 2500; ++i) ids.push_back(make("/new/" + std::to_string(i)));
  EXPECT_EQ(drain().size(), 2501u);
  EXPECT_EQ(path(ids[1234]), "/new/1234");
  EXPECT_EQ(tree_->unwatched(), 0u);
  remove("/old");
  EXPECT_EQ(drain().size(), 2501u);
}

// The kernel keeps 16,384 events: what is more is lost, and the tree is walked anew.
TEST_F(CgroupTreeTest, lost_events_lose_no_cgroup) {
  open();
  int limit = 0;
  std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> limit;
  if (limit > 20'000) GTEST_SKIP() << "the kernel keeps " << limit << " events";
  make("/b");
  for (int i = 0; i <= limit / 2; ++i) {
    const std::string name = root_ + (i % 2 ? "/x" : "/y");
    ASSERT_EQ(::mkdir(name.c_str(), 0755), 0);
    ASSERT_EQ(::rmdir(name.c_str()), 0);
  }
  const uint64_t a = make("/a");
  remove("/b");
  drain();
  EXPECT_EQ(path(a), "/a");
  EXPECT_EQ(tree_->living().size(), 2u);
}

TEST_F(CgroupTreeTest, beyond_its_limit_it_counts_and_catches_up) {
  open({.living = 3});
  make("/a");
  make("/b");
  const uint64_t c = make("/c");
  drain();
  EXPECT_EQ(path(c), "");
  EXPECT_EQ(tree_->unwatched(), 1u);
  remove("/a");
  now_ += 10'000'000'000;
  drain();
  EXPECT_EQ(path(c), "/c");
  EXPECT_EQ(tree_->unwatched(), 0u);
}

TEST_F(CgroupTreeTest, paths_are_asked_for_from_another_thread) {
  const uint64_t a = make("/a");
  open();
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::thread reader([&] {
    while (!done)
      if (path(a) != "/a") ++wrong;
  });
  for (int i = 0; i < 500; ++i) {
    make("/b/c");
    drain();
    remove("/b");
    drain();
  }
  done = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(CgroupTreeTest, a_link_is_not_followed) {
  make("/a");
  fs::create_directory_symlink(root_ + "/a", root_ + "/link");
  open();
  fs::create_directory_symlink(root_ + "/a", root_ + "/link2");
  EXPECT_THAT(drain(), IsEmpty());
  EXPECT_EQ(path(id("/a")), "/a");
}

TEST_F(CgroupTreeTest, without_a_hierarchy_it_says_so) {
  const auto tree = CgroupTree::open(root_ + "/none");
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code, ENOENT);
}

TEST_F(CgroupTreeTest, the_unified_hierarchy_is_found) {
  EXPECT_EQ(unified_hierarchy(root_), "");
  make("/unified");
  std::ofstream(root_ + "/unified/cgroup.controllers") << "\n";
  EXPECT_EQ(unified_hierarchy(root_), root_ + "/unified");
  std::ofstream(root_ + "/cgroup.controllers") << "cpu\n";
  EXPECT_EQ(unified_hierarchy(root_), root_);
}

}  // namespace
}  // namespace jobscope
