#include "src/output/table.h"

#include <gmock/gmock.h>

namespace jobscope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kRight = Column::Align::right;
const TextStyle kStyle{80, false, true};

TEST(TextTable, aligns_columns_and_leaves_no_blanks_at_the_end) {
  TextTable table({{.heading = "name"}, {.heading = "CPU", .align = kRight}, {.heading = "note"}});
  table.row({"main", "4.31 s", "x"});
  table.row({"a longer one", "12 s"});
  EXPECT_THAT(table.lines(2, kStyle), ElementsAre("  name             CPU  note",  //
                                                  "  main          4.31 s  x",     //
                                                  "  a longer one    12 s"));
}

TEST(TextTable, leaves_out_columns_without_text) {
  TextTable table({{.heading = "a"}, {.heading = "b"}, {.heading = "c"}});
  table.row({"1", "", "3"});
  EXPECT_THAT(table.lines(0, kStyle), ElementsAre("a  c", "1  3"));
}

TEST(TextTable, counts_columns_as_a_terminal_does) {
  TextTable table({{.heading = ""}, {.heading = ""}});
  table.row({"数据", "x"});
  table.row({"µs", "y"});
  EXPECT_THAT(table.lines(0, kStyle), ElementsAre("数据  x", "µs    y"));
}

TEST(TextTable, shortens_then_drops_to_fit) {
  TextTable table({{.heading = "path", .least = 20},
                   {.heading = "time", .align = kRight},
                   {.heading = "bytes", .align = kRight, .drop = 1},
                   {.heading = "waits", .align = kRight, .drop = 2}});
  table.row({"/very/long/path/of/some/thing.bin", "1.00 s", "3.00 MiB", "12"});
  EXPECT_THAT(table.lines(0, {60, false, true}),
              ElementsAre("path                                 time     bytes  waits",
                          "/very/long/path/of/some/thing.bin  1.00 s  3.00 MiB     12"));
  EXPECT_THAT(table.lines(0, {52, false, true}),
              ElementsAre("path                        time     bytes  waits",
                          "…/path/of/some/thing.bin  1.00 s  3.00 MiB     12"));
  EXPECT_THAT(table.lines(0, {40, false, true}),
              ElementsAre("path                   time     bytes",
                          "…/of/some/thing.bin  1.00 s  3.00 MiB"));
}

TEST(TextTable, puts_notes_beside_or_below) {
  TextTable table({{.heading = ""}, {.heading = "", .note = true}});
  table.row({"futex", "heap · woken by KernelThread_0 (84 %)"});
  table.row({"sleep"});
  EXPECT_THAT(table.lines(2, {44, false, true}),
              ElementsAre("  futex  heap · woken by KernelThread_0", "         (84 %)", "  sleep"));
  TextTable wide({{.heading = ""}, {.heading = "", .note = true}});
  wide.row({"a label that leaves no room", "heap · woken by KernelThread_0 (84 %)"});
  EXPECT_THAT(
      wide.lines(2, {44, false, true}),
      ElementsAre("  a label that leaves no room", "      heap · woken by KernelThread_0 (84 %)"));
}

TEST(TextTable, is_never_wider_than_asked) {
  TextTable table({{.heading = std::string(50, 'h')},
                   {.heading = "b", .align = kRight},
                   {.heading = "c"},
                   {.heading = "", .note = true}});
  table.row({std::string(90, 'x'), std::string(70, '9'), "数据数据", std::string(200, 'n')});
  for (unsigned width = 0; width < 200; ++width)
    for (const auto& line : table.lines(2, {width, false, true}))
      EXPECT_LE(columns(line), std::max(width, kLeastWidth)) << line;
}

TEST(TextTable, makes_its_text_printable) {
  TextTable table({{.heading = "h\x1b"}});
  table.row({"x\n\x1b[2J"});
  EXPECT_THAT(table.lines(0, kStyle), ElementsAre("h\\x1b", "x\\x0a\\x1b[2J"));
}

TEST(TextTable, takes_rows_of_any_length) {
  TextTable table({{.heading = "a"}});
  EXPECT_TRUE(table.empty());
  table.row({"1", "2", "3"});
  table.row({});
  EXPECT_THAT(table.lines(0, kStyle), ElementsAre("a", "1", ""));
  EXPECT_THAT(TextTable({}).lines(0, kStyle), IsEmpty());
}

TEST(TextTable, colours_do_not_move_columns) {
  TextTable table({{.heading = ""}, {.heading = ""}});
  table.row({Cell("a", Colour::red), "x"});
  table.row({"bb", "y"});
  EXPECT_THAT(table.lines(0, {80, true, true}), ElementsAre("\x1b[31ma\x1b[0m   x", "bb  y"));
}

}  // namespace
}  // namespace jobscope
