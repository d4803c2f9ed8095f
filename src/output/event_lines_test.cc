#include "src/output/event_lines.h"

#include <gtest/gtest.h>

namespace jobscope {
namespace {

const std::vector<EventColumn> kColumns = {
    {"LATENCY", 8, true, 0}, {"SECTOR", 10, true, 6}, {"COMMAND", 15, false, 0}};

EventLine line_of(std::vector<std::string> cells) {
  EventLine line;
  line.cells = std::move(cells);
  return line;
}

TEST(EventLayout, aligns_columns_with_their_headings) {
  const EventLayout layout(kColumns, 8, {}, false);
  EXPECT_EQ(layout.header(), "TIME      LATENCY     SECTOR COMMAND\n");
  EXPECT_EQ(layout.line("10:11:12", line_of({"431 µs", "2048", "python3"})),
            "10:11:12   431 µs       2048 python3\n");
}

TEST(EventLayout, a_long_cell_pushes_and_hides_nothing) {
  const EventLayout layout(kColumns, 8, {}, false);
  EXPECT_EQ(layout.line("10:11:12", line_of({"1", "123456789012345", "a"})),
            "10:11:12        1 123456789012345 a\n");
}

TEST(EventLayout, leaves_columns_out_where_a_terminal_is_narrow) {
  TextStyle narrow;
  narrow.width = 40;
  const EventLayout layout(kColumns, 8, narrow, true);
  EXPECT_EQ(layout.header(), "TIME      LATENCY COMMAND\n");
  EXPECT_EQ(layout.line("10:11:12", line_of({"1", "2", std::string(60, 'x')})).size() <= 41 + 2,
            true);
}

TEST(EventLayout, no_text_of_an_event_reaches_the_terminal_raw) {
  const EventLayout layout({{"COMMAND", 15, false, 0}}, 1, {}, false);
  EXPECT_EQ(layout.line("1", line_of({"\x1b[2J\n"})), "1 \\x1b[2J\\x0a\n");
}

TEST(EventLayout, empty_and_missing_cells_are_blank) {
  const EventLayout layout(kColumns, 8, {}, false);
  EXPECT_EQ(layout.line("10:11:12", line_of({"", "7"})), "10:11:12                   7\n");
}

}  // namespace
}  // namespace jobscope
