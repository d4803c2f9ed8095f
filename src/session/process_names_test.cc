#include "src/session/process_names.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace jobscope {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr ProcessId kNobody{~uint32_t{0} >> 1, 1};  // above the largest pid there can be

TEST(ParseMaps, reads_each_kind_of_line) {
  const std::vector<Mapping> maps = parse_maps(
      "55d0c0000000-55d0c0021000 r-xp 00002000 fe:01 1234                       "
      "/usr/bin/python3.11\n"
      "55d0c1000000-55d0c1021000 rw-p 00000000 00:00 0                          [heap]\n"
      "7f1200000000-7f1200021000 rw-p 00000000 00:00 0 \n"
      "7f1300000000-7f1300001000 r--s 00000000 00:01 99   /dev/shm/my file (deleted)\n");
  ASSERT_EQ(maps.size(), 4u);
  EXPECT_EQ(maps[0].start, 0x55d0c0000000u);
  EXPECT_EQ(maps[0].end, 0x55d0c0021000u);
  EXPECT_EQ(maps[0].offset, 0x2000u);
  EXPECT_TRUE(maps[0].executable);
  EXPECT_EQ(maps[0].path, "/usr/bin/python3.11");
  EXPECT_FALSE(maps[1].executable);
  EXPECT_EQ(maps[1].path, "[heap]");
  EXPECT_EQ(maps[2].path, "");
  EXPECT_EQ(maps[3].path, "/dev/shm/my file (deleted)");
}

TEST(ParseMaps, leaves_out_what_is_no_mapping) {
  EXPECT_TRUE(parse_maps("").empty());
  EXPECT_TRUE(parse_maps("\nno map\n55d0-\n").empty());
}

// parse_maps and owner meet only inside look(), which reads a living process: this one.
class OwnMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    names_.seen(self_, "unit_tests");
    names_.exec(self_, 0);
    names_.look(names_.due(), -1);
  }
  std::string owner(const void* address) const {
    return names_.owner(self_, reinterpret_cast<uint64_t>(address));
  }

  const ProcessId self_{static_cast<uint32_t>(::getpid()), 1};
  ProcessNames names_;
};

int g_data = 1;

TEST_F(OwnMemory, has_an_owner_for_each_address) {
  const int on_stack = 0;
  EXPECT_EQ(owner(&on_stack), "stack");
  EXPECT_EQ(owner(&g_data), "unit_tests");
  EXPECT_EQ(owner(reinterpret_cast<const void*>(&::getpagesize)), "libc.so.6");
  EXPECT_EQ(owner(nullptr), "");
  EXPECT_EQ(owner(reinterpret_cast<const void*>(~uintptr_t{0})), "");
}

TEST_F(OwnMemory, is_unknown_of_other_processes_and_after_an_exec) {
  EXPECT_EQ(names_.owner({self_.pid, 2}, reinterpret_cast<uint64_t>(&g_data)), "");
  names_.exec(self_, 1000);
  EXPECT_EQ(owner(&g_data), "");
}

TEST_F(OwnMemory, is_remembered_when_the_process_has_ended) {
  names_.ended(self_);
  EXPECT_EQ(owner(&g_data), "unit_tests");
}

TEST(OwnerOf, an_address_is_told_by_the_mapping_it_lies_in) {
  const std::vector<Mapping> maps = parse_maps(
      "1000-2000 rw-p 00000000 fe:01 1 /usr/bin/python3.11\n"
      "2000-3000 rw-p 00000000 00:00 0 \n"
      "4000-5000 rw-p 00000000 00:00 0 [heap]\n"
      "6000-7000 r-xp 00000000 fe:01 1 /usr/lib/libgomp.so.1.0.0\n"
      "7000-8000 rw-p 00001000 fe:01 1 /usr/lib/libgomp.so.1.0.0\n"
      "8000-9000 rw-p 00000000 00:00 0 \n"
      "9000-a000 rw-p 00000000 fe:01 2 /usr/lib/libtorch.so\n"
      "b000-c000 rw-p 00000000 00:00 0 \n"
      "d000-e000 rw-p 00000000 00:00 0 [stack]\n"
      "e000-f000 rw-s 00000000 00:01 3 /dev/shm/ring\n");
  EXPECT_EQ(owner_of(maps, 0xfff), "");
  EXPECT_EQ(owner_of(maps, 0x1000), "python3.11");
  EXPECT_EQ(owner_of(maps, 0x2fff), "anonymous memory");  // programs are not libraries
  EXPECT_EQ(owner_of(maps, 0x3000), "");
  EXPECT_EQ(owner_of(maps, 0x4fff), "heap");
  EXPECT_EQ(owner_of(maps, 0x7000), "libgomp.so.1.0.0");
  EXPECT_EQ(owner_of(maps, 0x8000), "libgomp.so.1.0.0");  // its .bss
  EXPECT_EQ(owner_of(maps, 0x9000), "libtorch.so");
  EXPECT_EQ(owner_of(maps, 0xb000), "anonymous memory");  // a gap lies between
  EXPECT_EQ(owner_of(maps, 0xd000), "stack");
  EXPECT_EQ(owner_of(maps, 0xefff), "ring");
  EXPECT_EQ(owner_of(maps, 0xf000), "");
  EXPECT_EQ(owner_of({}, 0x1000), "");
}

TEST(ProcessNames, knows_a_process_by_pid_and_start) {
  ProcessNames names;
  names.seen({10, 1}, "python");
  names.seen({10, 5}, "true");
  EXPECT_EQ(names.name({10, 1}), "python");
  EXPECT_EQ(names.name({10, 5}), "true");
  EXPECT_EQ(names.name({10, 3}), "");
  names.seen({10, 1}, "train");
  EXPECT_EQ(names.name({10, 1}), "train");
  names.seen({10, 1}, "");
  EXPECT_EQ(names.name({10, 1}), "train");
}

TEST(ProcessNames, of_a_pid_used_again_the_newest_has_the_name) {
  ProcessNames names;
  EXPECT_EQ(names.name_by_pid(10), "");
  names.seen({9, 1}, "below");
  names.seen({10, 7}, "new");
  names.seen({10, 2}, "old");
  names.seen({11, 1}, "above");
  EXPECT_EQ(names.name_by_pid(10), "new");
  EXPECT_EQ(names.name_by_pid(8), "");
  EXPECT_EQ(names.name_by_pid(12), "");
}

TEST(ProcessNames, children_are_those_that_lived_longest_in_all) {
  ProcessNames names;
  const ProcessId make{1, 1}, shell{2, 1};
  names.seen(make, "make");
  names.seen(shell, "sh");
  EXPECT_EQ(names.children(make), "");
  names.child(1, "make", 100);
  EXPECT_EQ(names.children(make), "make");
  for (int i = 0; i < 3; ++i) names.child(1, "cc", 40);
  names.child(2, "cc", 1);
  EXPECT_EQ(names.children(make), "cc ×3");
  EXPECT_EQ(names.children(shell), "cc");
  names.child(1, "make", 21);
  EXPECT_EQ(names.children(make), "make ×2");
}

TEST(ProcessNames, of_a_pid_used_again_the_newest_has_the_children) {
  ProcessNames names;
  names.child(10, "nobody's", 1);
  names.seen({10, 1}, "old");
  names.child(10, "a", 1);
  names.seen({10, 5}, "new");
  names.child(10, "b", 1);
  EXPECT_EQ(names.children({10, 1}), "a");
  EXPECT_EQ(names.children({10, 5}), "b");
}

TEST(ProcessNames, very_many_names_of_children_are_not_kept) {
  ProcessNames names;
  const ProcessId parent{1, 1};
  names.seen(parent, "make");
  for (int i = 0; i < 256; ++i) names.child(1, "job" + std::to_string(i), 10);
  names.child(1, "one too many", 1000);
  EXPECT_EQ(names.children(parent), "job0");
  names.child(1, "job7", 1);
  EXPECT_EQ(names.children(parent), "job7 ×2");
}

TEST(ProcessNames, looks_soon_after_an_exec_and_then_ever_more_seldom) {
  ProcessNames names;
  EXPECT_EQ(names.due(), 0u);
  names.seen(kNobody, "x");
  EXPECT_EQ(names.due(), 0u);  // no exec, no new memory
  uint64_t now = 1000;
  names.exec(kNobody, now);
  for (const uint64_t wait : {20, 80, 300, 1000, 4000, 15'000, 60'000, 60'000, 60'000}) {
    EXPECT_EQ(names.due(), now + wait * kMs);
    names.look(names.due() - 1, -1);  // too early
    EXPECT_EQ(names.due(), now + wait * kMs);
    now = names.due();
    names.look(now, -1);
  }
  names.exec(kNobody, now);  // again from the first
  EXPECT_EQ(names.due(), now + 20 * kMs);
}

TEST(ProcessNames, the_first_of_all_processes_is_due) {
  ProcessNames names;
  const ProcessId other{kNobody.pid, 2};
  names.exec(kNobody, 50 * kMs);
  names.exec(other, 10 * kMs);
  EXPECT_EQ(names.due(), 30 * kMs);
  names.look(30 * kMs, -1);
  EXPECT_EQ(names.due(), 70 * kMs);
  names.look(70 * kMs, -1);
  EXPECT_EQ(names.due(), 110 * kMs);
}

TEST(ProcessNames, a_process_that_ended_is_not_looked_at) {
  ProcessNames names;
  names.exec(kNobody, 0);
  names.ended(kNobody);
  names.ended({kNobody.pid, 99});  // never seen
  names.look(20 * kMs, -1);
  EXPECT_EQ(names.due(), 0u);
}

TEST(ProcessNames, of_too_many_those_that_are_gone_are_forgotten) {
  ProcessNames names;
  constexpr uint32_t kMax = 65536;
  for (uint32_t pid = 1; pid <= kMax; ++pid) names.seen({pid, 1}, "x");
  for (uint32_t pid = 2; pid <= kMax; ++pid) names.ended({pid, 1});
  EXPECT_EQ(names.name({kMax, 1}), "x");
  names.seen({kMax + 1, 1}, "y");
  EXPECT_EQ(names.name({1, 1}), "x");
  EXPECT_EQ(names.name({2, 1}), "");
  EXPECT_EQ(names.name({kMax + 1, 1}), "y");
}

}  // namespace
}  // namespace jobscope
