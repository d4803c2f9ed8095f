#include "src/output/histogram_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace jobscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Histogram sample() {
  Histogram h;
  h.slots[4] = 20;
  h.slots[6] = 5;
  h.max = 99;
  h.sum = 900;
  return h;
}

TEST(HistogramText, has_a_line_for_each_slot_between_the_first_and_the_last) {
  TextStyle style;
  style.width = 45;
  style.unicode = false;
  EXPECT_THAT(
      histogram_lines(sample(), SlotUnit::us, style),
      ElementsAre("                  us : count", "            16 -> 31 : 20       ##########",
                  "            32 -> 63 : 0", "           64 -> 127 : 5        ###",
                  "  count 25 - p50 26 us - p99 99 us - max 99 us"));
}

TEST(HistogramText, of_nothing_is_nothing) {
  EXPECT_THAT(histogram_lines({}, SlotUnit::us, {}), IsEmpty());
}

TEST(HistogramText, quantiles_of_milliseconds_stay_below_the_exact_largest) {
  Histogram h;
  h.slots[0] = 3;
  h.max = 431;
  EXPECT_EQ(quantile_us(h, SlotUnit::ms, 0.99), 431);
}

TEST(HistogramJson, has_exclusive_upper_bounds) {
  const auto json = histogram_json(sample(), SlotUnit::us);
  EXPECT_EQ(json["count"], 25);
  EXPECT_EQ(json["max"], 99);
  EXPECT_EQ(json["buckets"].dump(), R"({"32":20,"128":5})");
  EXPECT_TRUE(histogram_json({}, SlotUnit::us)["p50"].is_null());
  EXPECT_EQ(histogram_json(sample(), SlotUnit::ms)["sum"], 0.9);
}

TEST(ShortTime, has_three_figures) {
  EXPECT_EQ(short_time(431), "431 µs");
  EXPECT_EQ(short_time(999.6), "1.00 ms");
  EXPECT_EQ(short_time(2'500'000), "2.50 s");
}

}  // namespace
}  // namespace jobscope
