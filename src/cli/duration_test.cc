#include "src/cli/duration.h"

#include <gtest/gtest.h>

namespace jobscope {
namespace {

TEST(Duration, ReadsWhatPeopleWrite) {
  EXPECT_EQ(parse_duration("30s").value(), 30'000'000'000u);
  EXPECT_EQ(parse_duration("10").value(), 10'000'000'000u);
  EXPECT_EQ(parse_duration("1.5m").value(), 90'000'000'000u);
  EXPECT_EQ(parse_duration("500ms").value(), 500'000'000u);
  EXPECT_EQ(parse_duration("2h").value(), 7'200'000'000'000u);
}

TEST(Duration, RefusesTheRest) {
  for (const char* text :
       {"", "s", "-1s", "0", "1x", "1 s", "1e30", "nan", "inf", "99999d", "30ss"})
    EXPECT_FALSE(parse_duration(text)) << text;
}

}  // namespace
}  // namespace jobscope
