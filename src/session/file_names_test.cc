#include "src/session/file_names.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace jobscope {
namespace {

using namespace std::string_view_literals;

constexpr uint32_t kData = 254u << 20 | 17, kRoot = 254u << 20 | 1, kSpaces = 254u << 20 | 33;

file_name_head head(uint64_t inode, uint32_t device, bool partial = false,
                    bool in_file_system = false) {
  file_name_head head{};
  head.key.inode = inode;
  head.key.device = device;
  head.partial = partial;
  head.in_file_system = in_file_system;
  return head;
}

class FileNamesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    mounts_ = ::testing::TempDir() + "file_names_test." + std::to_string(::getpid());
    std::ofstream(mounts_) << "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
                              "30 22 254:17 /sub /bind rw shared:2 - xfs /dev/vdb1 rw\n"
                              "31 22 254:17 / /data rw shared:2 - xfs /dev/vdb1 rw\n"
                              "32 22 254:33 / /my\\040back\\134slash rw - xfs /dev/vdc1 rw\n";
  }
  void TearDown() override { std::filesystem::remove(mounts_); }

  std::string mounts_;
};

TEST(JoinReversed, turns_the_components_around) {
  EXPECT_EQ(join_reversed("c\0b\0a\0"sv), "/a/b/c");
  EXPECT_EQ(join_reversed("train.bin\0"sv), "/train.bin");
}

TEST(JoinReversed, takes_what_is_cut_off_and_leaves_out_what_is_empty) {
  EXPECT_EQ(join_reversed("c\0b\0a"sv), "/a/b/c");
  EXPECT_EQ(join_reversed("c\0\0a\0"sv), "/a/c");
  EXPECT_EQ(join_reversed(""sv), "");
  EXPECT_EQ(join_reversed("\0"sv), "");
}

TEST_F(FileNamesTest, a_path_is_known_by_inode_and_device) {
  FileNames files(mounts_);
  files.add(head(7, kData), "train.bin\0data\0"sv);
  files.add(head(8, kData), "val.bin\0data\0"sv);
  EXPECT_EQ(files.path({7, kData}), "/data/train.bin");
  EXPECT_EQ(files.path({8, kData}), "/data/val.bin");
  EXPECT_EQ(files.path({7, kRoot}), "");
  EXPECT_EQ(files.path({9, kData}), "");
}

TEST_F(FileNamesTest, an_inode_used_again_has_its_new_name) {
  FileNames files(mounts_);
  files.add(head(7, kData), "old\0"sv);
  files.add(head(7, kData), "new\0"sv);
  EXPECT_EQ(files.path({7, kData}), "/new");
  files.add(head(7, kData), ""sv);  // a record without a name tells nothing
  EXPECT_EQ(files.path({7, kData}), "/new");
}

TEST_F(FileNamesTest, files_that_had_one_inode_are_told_apart_by_its_generation) {
  FileNames files(mounts_);
  file_name_head second = head(7, kData);
  second.key.generation = 2;
  files.add(head(7, kData), "first\0"sv);
  files.add(second, "second\0"sv);
  EXPECT_EQ(files.path({7, kData}), "/first");
  EXPECT_EQ(files.path({7, kData, 2}), "/second");
  EXPECT_EQ(files.path({7, kData, 3}), "");
}

TEST(FileOf, a_wait_tells_device_and_generation_in_one_number) {
  wait_key key{};
  key.id[0] = 7;
  key.id[1] = uint64_t{5} << 32 | 254 << 20;
  EXPECT_EQ(file_of(key), (FileId{7, 254 << 20, 5}));
}

TEST_F(FileNamesTest, of_a_partial_path_the_end_is_known) {
  FileNames files(mounts_);
  files.add(head(7, kData, true), "c\0b\0"sv);
  EXPECT_EQ(files.path({7, kData}), "…/b/c");
  files.add(head(8, kData, true, true), "c\0"sv);  // not below a mount point: what is between?
  EXPECT_EQ(files.path({8, kData}), "…/c");
  files.add(head(9, kData, true), ""sv);
  EXPECT_EQ(files.path({9, kData}), "");
}

TEST_F(FileNamesTest, a_path_in_a_file_system_lies_below_its_mount_point) {
  FileNames files(mounts_);
  files.add(head(7, kData, false, true), "train.bin\0"sv);
  EXPECT_EQ(files.path({7, kData}), "/data/train.bin");
  files.add(head(7, kRoot, false, true), "passwd\0etc\0"sv);
  EXPECT_EQ(files.path({7, kRoot}), "/etc/passwd");
  files.add(head(7, kSpaces, false, true), "a\0"sv);
  EXPECT_EQ(files.path({7, kSpaces}), "/my back\\slash/a");
  files.add(head(7, 5, false, true), "not mounted here\0"sv);
  EXPECT_EQ(files.path({7, 5}), "…/not mounted here");
}

TEST_F(FileNamesTest, of_a_part_of_a_file_system_the_path_is_where_that_part_is_mounted) {
  std::ofstream(mounts_) << "30 22 254:17 /sub /bind rw shared:2 - xfs /dev/vdb1 rw\n"
                            "31 22 254:17 /sub/deeper /deep rw shared:2 - xfs /dev/vdb1 rw\n";
  FileNames files(mounts_);
  files.add(head(7, kData, false, true), "a\0sub\0"sv);
  EXPECT_EQ(files.path({7, kData}), "/bind/a");
  files.add(head(8, kData, false, true), "a\0deeper\0sub\0"sv);
  EXPECT_EQ(files.path({8, kData}), "/bind/deeper/a");
  files.add(head(9, kData, false, true), "a\0subway\0"sv);
  EXPECT_EQ(files.path({9, kData}), "…/subway/a");
}

TEST(DeviceName, is_its_number_if_it_has_none) {
  EXPECT_EQ(FileNames::device_name(4095u << 20 | 1048575), "4095:1048575");
  EXPECT_EQ(FileNames::device_name(0), "0:0");
}

TEST(DeviceName, is_the_kernels_own) {
  for (const auto& entry : std::filesystem::directory_iterator("/sys/block")) {
    std::ifstream file(entry.path() / "dev");
    uint32_t major = 0, minor = 0;
    char colon = 0;
    if (!(file >> major >> colon >> minor)) continue;
    EXPECT_EQ(FileNames::device_name(major << 20 | minor), entry.path().filename());
    return;
  }
  GTEST_SKIP() << "this machine has no block device";
}

}  // namespace
}  // namespace jobscope
