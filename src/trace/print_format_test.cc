#include "src/trace/print_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/trace/figures.h"

namespace jobscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> kKnown = {"comm", "pid", "nr_sector"};

TEST(PrintFormat, replaces_names_and_keeps_the_rest) {
  const auto format = PrintFormat::parse("{comm}: nr={nr_sector} {{}}", kKnown);
  ASSERT_TRUE(format);
  EXPECT_EQ(format->print([](const std::string& name) { return "<" + name + ">"; }),
            "<comm>: nr=<nr_sector> {}");
  EXPECT_TRUE(format->uses("comm"));
  EXPECT_FALSE(format->uses("pid"));
}

TEST(PrintFormat, refuses_what_it_cannot_print) {
  EXPECT_FALSE(PrintFormat::parse("{comm", kKnown));
  EXPECT_FALSE(PrintFormat::parse("comm}", kKnown));
  EXPECT_FALSE(PrintFormat::parse("{}", kKnown));
  EXPECT_THAT(PrintFormat::parse("{nr_sectors}", kKnown).error().hint, HasSubstr("nr_sector?"));
  EXPECT_THAT(PrintFormat::parse("{zzzzzz}", kKnown).error().hint, HasSubstr("there are comm"));
}

TEST(NearestNames, are_ordered_by_how_near_they_are) {
  EXPECT_THAT(nearest_names("getppit", {"getpid", "getppid", "read", "getppid"}),
              ElementsAre("getppid", "getpid"));
  EXPECT_THAT(nearest_names("issue", {"block_rq_issue", "x", "issued_at"}),
              ElementsAre("issued_at", "block_rq_issue"));
  EXPECT_TRUE(nearest_names("abcdef", {"zzzz"}).empty());
}

TEST(Figures, have_three_digits) {
  EXPECT_EQ(time_figure(822), "0.82 µs");
  EXPECT_EQ(time_figure(45'600), "45.6 µs");
  EXPECT_EQ(time_figure(999'400), "999 µs");
  EXPECT_EQ(time_figure(999'600), "1.00 ms");
  EXPECT_EQ(time_figure(2'500'000'000), "2.50 s");
  EXPECT_EQ(bytes_figure(512), "512 B");
  EXPECT_EQ(bytes_figure(1536), "1.5 KiB");
  EXPECT_EQ(signal_text(15), "SIGTERM");
  EXPECT_EQ(signal_text(35), "SIGRTMIN+1");
}

}  // namespace
}  // namespace jobscope
