#include "src/jobs/job_name.h"

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

TEST(JobName, IsWhatRunWasTold) {
  EXPECT_EQ(name_of_run({"jobscope", "run", "--name", "digits", "--", "python", "x.py"}), "digits");
  EXPECT_EQ(name_of_run({"/opt/jobscope", "run", "--for", "5m", "--name=digits", "python", "x.py"}),
            "digits");
}

TEST(JobName, OfRunWithoutANameIsOfTheCommand) {
  EXPECT_EQ(name_of_run({"jobscope", "run", "--", "python3", "-u", "src/train.py"}), "train");
  EXPECT_EQ(name_of_run({"jobscope", "run", "sleep", "1"}), "sleep");
  EXPECT_EQ(name_of_run({"jobscope", "run", "--progress", "-o", "a", "--as-root", "sleep"}),
            "sleep");
  EXPECT_EQ(name_of_run({"jobscope", "run", "-oa", "--json=-", "sleep"}), "sleep");
  // what comes after the command is the command's
  EXPECT_EQ(name_of_run({"jobscope", "run", "sleep", "--name", "x"}), "sleep");
  EXPECT_EQ(name_of_run({"jobscope", "run", "--", "--name", "x"}), "--name");
}

TEST(JobName, OtherCommandsAreNoRun) {
  for (const std::vector<std::string>& argv :
       std::vector<std::vector<std::string>>{{},
                                             {""},
                                             {"jobscope"},
                                             {"jobscope", "run"},
                                             {"jobscope", "run", "--"},
                                             {"jobscope", "run", "--name"},
                                             {"jobscope", "run", "--name", "x"},
                                             {"jobscope", "attach", "--pid", "1"},
                                             {"jobscope", "agent", "run", "--", "x"},
                                             {"python", "jobscope", "run", "--", "x"}})
    EXPECT_FALSE(name_of_run(argv)) << (argv.empty() ? "" : argv[0]);
  EXPECT_TRUE(is_jobscope({"/usr/bin/jobscope", "agent"}));
  EXPECT_FALSE(is_jobscope({"jobscope"}));
  EXPECT_FALSE(is_jobscope({"jobscoped", "run"}));
}

}  // namespace
}  // namespace jobscope
