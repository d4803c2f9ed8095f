#include "src/programs/ended_processes.h"

#include <gtest/gtest.h>

#include <set>

namespace jobscope {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

TEST(EndedProcesses, are_told_some_minutes_after_their_end) {
  std::set<uint32_t> there = {23, 29};
  EndedProcesses ended([&](uint32_t pid) { return there.contains(pid); });
  const auto at = [&](uint64_t seconds, uint32_t pid) {
    ended.begin(seconds * kSecond);
    return ended.is_long_gone(pid);
  };
  EXPECT_FALSE(at(1000, 23));
  there.erase(23);
  EXPECT_FALSE(at(2000, 23));  // seen for the first time
  EXPECT_TRUE(ended.is_gone(23));
  EXPECT_FALSE(at(2299, 23));
  EXPECT_TRUE(at(2300, 23));
  there.insert(23);  // the number is used again
  EXPECT_FALSE(at(2400, 23));
  there.erase(23);
  EXPECT_FALSE(at(2500, 23));
  ended.begin(2600 * kSecond);  // no row of it any more: forgotten
  EXPECT_FALSE(at(9000, 23));
  EXPECT_FALSE(at(9001, 29));
}

}  // namespace
}  // namespace jobscope
