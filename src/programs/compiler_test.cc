#include "src/programs/compiler.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "src/base/folder_for_test.h"

namespace jobscope {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

bool has_clang() { return std::system("clang --version > /dev/null 2>&1") == 0; }

class Compiler : public ::testing::Test {
 protected:
  std::string source(const std::string& text) const {
    std::ofstream(path_) << text;
    return path_;
  }
  TestFolder folder_;
  const std::string path_ = folder_.path() + "/x.bpf.c";
};

TEST_F(Compiler, a_source_that_is_no_regular_file_is_not_waited_for) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const auto made = compile_program(path_, "");
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().what, HasSubstr("it is no regular file"));
}

TEST_F(Compiler, one_that_never_ends_is_ended) {
  if (!has_clang()) GTEST_SKIP() << "there is no clang";
  ASSERT_EQ(::mkfifo((folder_.path() + "/never.h").c_str(), 0600), 0);
  const auto made = compile_program(source("#include \"never.h\"\n"), "", seconds(1));
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().what, HasSubstr("takes more than 1 s"));
}

TEST_F(Compiler, what_it_says_is_bounded) {
  if (!has_clang()) GTEST_SKIP() << "there is no clang";
  const auto made = compile_program(source("#include \"x.bpf.c\"\n"), "");
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().what, HasSubstr("does not compile"));
  EXPECT_LE(std::count(made.error().hint.begin(), made.error().hint.end(), '\n'), 20);
}

}  // namespace
}  // namespace jobscope
