#include "src/model/histogram.h"

#include <gtest/gtest.h>

namespace jobscope {
namespace {

TEST(Histogram, is_zero_when_empty) {
  const Histogram none;
  EXPECT_EQ(none.count(), 0u);
  EXPECT_EQ(none.quantile(0.5), 0);
  EXPECT_EQ(none.quantile(1), 0);
}

TEST(Histogram, a_quantile_is_linear_inside_its_slot) {
  Histogram h;
  h.slots[4] = 8;  // [16, 32)
  h.max = 31;
  EXPECT_DOUBLE_EQ(h.quantile(0.5), 24);
  EXPECT_DOUBLE_EQ(h.quantile(0.25), 20);
  EXPECT_DOUBLE_EQ(h.quantile(0), 16);
}

TEST(Histogram, a_quantile_finds_its_slot) {
  Histogram h;
  h.slots[0] = 50;   // 0 and 1
  h.slots[3] = 40;   // [8, 16)
  h.slots[10] = 10;  // [1024, 2048)
  h.max = 2000;
  EXPECT_DOUBLE_EQ(h.quantile(0.25), 1);
  EXPECT_DOUBLE_EQ(h.quantile(0.5), 2);
  EXPECT_DOUBLE_EQ(h.quantile(0.7), 12);
  EXPECT_DOUBLE_EQ(h.quantile(0.95), 1536);
}

TEST(Histogram, a_quantile_is_never_above_the_largest_value) {
  Histogram h;
  h.slots[4] = 1;
  h.max = 17;
  EXPECT_DOUBLE_EQ(h.quantile(0.99), 17);
  h.slots[4] = 0;
  h.slots[31] = 1;  // all that is larger
  h.max = 1ull << 31;
  EXPECT_DOUBLE_EQ(h.quantile(1), static_cast<double>(1ull << 31));
}

TEST(Histogram, merging_adds_counts_and_keeps_the_larger_maximum) {
  Histogram a, b;
  a.slots[1] = 1;
  a.slots[31] = 4;
  a.max = 100;
  a.sum = 1000;
  b.slots[1] = 2;
  b.slots[0] = 8;
  b.max = 7;
  b.sum = 10;
  a.merge(b);
  EXPECT_EQ(a.slots[0], 8u);
  EXPECT_EQ(a.slots[1], 3u);
  EXPECT_EQ(a.slots[31], 4u);
  EXPECT_EQ(a.count(), 15u);
  EXPECT_EQ(a.max, 100u);
  EXPECT_EQ(a.sum, 1010u);
  b.merge(a);
  EXPECT_EQ(b.max, 100u);
}

}  // namespace
}  // namespace jobscope
