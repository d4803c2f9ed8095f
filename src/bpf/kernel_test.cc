#include "src/bpf/kernel.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "src/bpf/kernel_btf.h"
#include "src/bpf/prototype.h"

namespace jobscope {
namespace {

using ::testing::AnyOf;

// The per-CPU variable that `distance` leads to from the start of `from`.
std::string variable_at(const btf* types, const std::string& from, int64_t distance) {
  const int id = btf__find_by_name_kind(types, ".data..percpu", BTF_KIND_DATASEC);
  if (id < 0) return {};
  const btf_type* section = btf__type_by_id(types, static_cast<uint32_t>(id));
  const auto find = [&](auto test) -> const btf_var_secinfo* {
    for (int i = 0; i < btf_vlen(section); ++i)
      if (test(btf_var_secinfos(section)[i])) return btf_var_secinfos(section) + i;
    return nullptr;
  };
  const auto name = [&](const btf_var_secinfo& variable) -> std::string {
    return btf__name_by_offset(types, btf__type_by_id(types, variable.type)->name_off);
  };
  const auto* start = find([&](const auto& variable) { return name(variable) == from; });
  if (!start) return {};
  const int64_t at = static_cast<int64_t>(start->offset) + distance;
  const auto* there = find([&](const auto& v) { return at >= v.offset && at < v.offset + v.size; });
  return there ? name(*there) : std::string();
}

TEST(PreemptCount, lies_in_the_variables_of_its_cpu) {
  if (!kernel_btf()) GTEST_SKIP() << "the kernel has no BTF";
  const auto distance = preempt_count_from_runqueue();
#if defined(__x86_64__)
  ASSERT_TRUE(distance);
#endif
  if (!distance) GTEST_SKIP() << "not a variable of each CPU here";
  EXPECT_EQ(*distance % 4, 0);
  EXPECT_THAT(variable_at(kernel_btf(), "runqueues", *distance),
              AnyOf("__preempt_count", "pcpu_hot"));
}

TEST(Mask, names_features_whole) {
  ::setenv("JOBSCOPE_WITHOUT", "task_storage,sched_switch", 1);
  EXPECT_TRUE(is_masked("task_storage"));
  EXPECT_TRUE(is_masked("sched_switch"));
  EXPECT_FALSE(is_masked("sched"));
  EXPECT_FALSE(is_masked("switch"));
  EXPECT_FALSE(tracepoint_arguments("sched_switch"));
  ::unsetenv("JOBSCOPE_WITHOUT");
  EXPECT_FALSE(is_masked("task_storage"));
  EXPECT_FALSE(is_masked(""));
}

}  // namespace
}  // namespace jobscope
