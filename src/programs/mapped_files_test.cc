#include "src/programs/mapped_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "src/base/folder_for_test.h"

namespace jobscope {
namespace {

namespace fs = std::filesystem;

class MappedFilesTest : public ::testing::Test {
 protected:
  MappedFilesTest() {
    fs::create_directories(folder_.path() + "/7/root");
    std::ofstream(folder_.path() + "/7/maps")
        << "7f0000000000-7f0000001000 r-xp 00000000 08:01 23   /libjobscope_mapped.so.1\n";
    files_.want("libjobscope_mapped.so*");
  }
  TestFolder folder_;
  const std::string path_ = folder_.path() + "/7/root/libjobscope_mapped.so.1";
  MappedFiles files_{folder_.path()};
};

TEST_F(MappedFilesTest, a_file_stays_the_one_that_was_found) {
  std::ofstream(path_) << "library";
  const auto found = files_.look(0);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].path, path_);
  fs::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  std::string text;
  std::ifstream("/proc/self/fd/" + std::to_string(found[0].file.get())) >> text;
  EXPECT_EQ(text, "library");
}

TEST_F(MappedFilesTest, what_is_no_regular_file_is_none) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_TRUE(files_.look(0).empty());
}

}  // namespace
}  // namespace jobscope
