#include "src/bpf/prototype.h"

#include <gmock/gmock.h>

#include "src/bpf/kernel_btf.h"

namespace jobscope {
namespace {

using ::testing::ElementsAre;

class TracepointArguments : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kernel_btf()) GTEST_SKIP() << "the kernel has no BTF";
  }
};

TEST_F(TracepointArguments, are_the_structs_pointed_to_and_plain_values) {
  const auto arguments = tracepoint_arguments("sched_switch");  // (preempt, prev, next[, state])
  ASSERT_TRUE(arguments);
  ASSERT_GE(arguments->size(), 3u);
  EXPECT_EQ((*arguments)[0], "");
  EXPECT_EQ((*arguments)[1], "task_struct");
  EXPECT_EQ((*arguments)[2], "task_struct");
  if (arguments->size() > 3) {  // fa2c3254d7cf, 5.18
    EXPECT_EQ((*arguments)[3], "");
  }
}

TEST_F(TracepointArguments, are_counted_without_the_tracepoints_own) {
  const auto arguments = tracepoint_arguments("sched_process_exec");  // (task, old pid, program)
  ASSERT_TRUE(arguments);
  EXPECT_THAT(*arguments, ElementsAre("task_struct", "", "linux_binprm"));
}

TEST_F(TracepointArguments, there_are_none_of_a_tracepoint_that_is_missing) {
  EXPECT_FALSE(tracepoint_arguments("no_such_tracepoint"));
  EXPECT_FALSE(tracepoint_arguments(""));
}

}  // namespace
}  // namespace jobscope
