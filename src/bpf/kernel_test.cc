#include "src/bpf/kernel.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "src/bpf/kernel_btf.h"

namespace jobscope {
namespace {

// Addresses that the kernel shows us: to root only, and not every kernel names its variables.
std::map<std::string, int64_t> kernel_symbols() {
  std::map<std::string, int64_t> found;
  std::ifstream file("/proc/kallsyms");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    uint64_t address = 0;
    std::string type, name;
    fields >> std::hex >> address >> type >> name;
    if (name == "runqueues" || name == "__preempt_count")
      found[name] = static_cast<int64_t>(address);
  }
  return found;
}

TEST(PreemptCount, lies_in_the_variables_of_its_cpu) {
  if (!kernel_btf()) GTEST_SKIP() << "the kernel has no BTF";
  const auto distance = preempt_count_from_runqueue();
#if defined(__x86_64__)
  ASSERT_TRUE(distance);
#endif
  if (!distance) GTEST_SKIP() << "not a variable of each CPU here";
  EXPECT_NE(*distance, 0);
  EXPECT_EQ(*distance % 4, 0);
  EXPECT_LT(std::abs(*distance), 16 << 20);
  auto symbols = kernel_symbols();
  if (symbols["runqueues"] != 0 && symbols["__preempt_count"] != 0) {
    EXPECT_EQ(*distance, symbols["__preempt_count"] - symbols["runqueues"]);
  }
}

}  // namespace
}  // namespace jobscope
