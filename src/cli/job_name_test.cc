#include "src/cli/job_name.h"

#include <gtest/gtest.h>

namespace jobscope {
namespace {

TEST(JobName, IsTheScriptOfPython) {
  EXPECT_EQ(job_name({"/usr/bin/python3.11", "-u", "src/train.py", "--x", "y.py"}), "train");
  EXPECT_EQ(job_name({"python", "-m", "pkg.train"}), "pkg.train");
  EXPECT_EQ(job_name({"python", "-X", "importtime", "train"}), "train");
}

TEST(JobName, IsTheCommandElse) {
  EXPECT_EQ(job_name({"/bin/sleep", "1"}), "sleep");
  EXPECT_EQ(job_name({"python3", "-c", "print(1)"}), "python3");
  EXPECT_EQ(job_name({"python3"}), "python3");
  EXPECT_EQ(job_name({}), "");
}

}  // namespace
}  // namespace jobscope
