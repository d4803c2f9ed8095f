#include "src/output/terminal.h"

#include <gmock/gmock.h>

namespace jobscope {
namespace {

using testing::ElementsAre;

const TextStyle kUnicode{80, false, true};
const TextStyle kAscii{80, false, false};

TEST(Printable, leaves_text_as_it_is) {
  EXPECT_EQ(printable("pt_data_worker µs · 数据 é", kUnicode), "pt_data_worker µs · 数据 é");
  EXPECT_EQ(printable("", kUnicode), "");
}

TEST(Printable, shows_control_characters_as_bytes) {
  EXPECT_EQ(printable("a\x1b[31mred\n\t\r\x7f", kUnicode), "a\\x1b[31mred\\x0a\\x09\\x0d\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3), kUnicode), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b", kUnicode), "\\xc2\\x9b");  // CSI in one character
}

TEST(Printable, shows_what_is_not_utf8_as_bytes) {
  EXPECT_EQ(printable("\xff\xfe", kUnicode), "\\xff\\xfe");
  EXPECT_EQ(printable("\xc3", kUnicode), "\\xc3");           // cut short
  EXPECT_EQ(printable("\xc0\xaf", kUnicode), "\\xc0\\xaf");  // longer than needed
  EXPECT_EQ(printable("\xe0\x80\xaf", kUnicode), "\\xe0\\x80\\xaf");
  EXPECT_EQ(printable("\xed\xa0\x80", kUnicode), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80", kUnicode), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xf0\x9f\x98x", kUnicode), "\\xf0\\x9f\\x98x");
}

TEST(Printable, shows_characters_that_reorder_or_hide_text_as_bytes) {
  EXPECT_EQ(printable("\u202Egpj.exe", kUnicode), "\\xe2\\x80\\xaegpj.exe");
  EXPECT_EQ(printable("a\u200Bb\uFEFF", kUnicode), "a\\xe2\\x80\\x8bb\\xef\\xbb\\xbf");
  EXPECT_EQ(printable("\u2028", kUnicode), "\\xe2\\x80\\xa8");
}

TEST(Printable, without_unicode_is_ascii) {
  EXPECT_EQ(printable("3.40 µs · a → b ≥ ×2", kAscii), "3.40 us - a -> b >= x2");
  EXPECT_EQ(printable("é", kAscii), "\\xc3\\xa9");
}

TEST(Printable, does_no_more_when_applied_again) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  for (const auto& style : {kUnicode, kAscii}) {
    const std::string once = printable(all, style);
    EXPECT_EQ(printable(once, style), once);
  }
}

TEST(Columns, counts_what_a_terminal_shows) {
  EXPECT_EQ(columns(""), 0U);
  EXPECT_EQ(columns("µs"), 2U);
  EXPECT_EQ(columns("数据"), 4U);
  EXPECT_EQ(columns("e\u0301"), 1U);
}

TEST(Shorten, keeps_what_fits) {
  EXPECT_EQ(shorten("abc", 3, kUnicode), "abc");
  EXPECT_EQ(shorten("", 0, kUnicode), "");
}

TEST(Shorten, takes_out_the_middle_and_keeps_more_of_the_end) {
  EXPECT_EQ(shorten("abcdefghijkl", 10, kUnicode), "abc…ghijkl");
  EXPECT_EQ(shorten("abcdefghijkl", 10, kAscii), "ab...hijkl");
}

TEST(Shorten, keeps_whole_names_of_a_path) {
  const char* path = "/opt/venv/lib/python3.11/site-packages/mindspore/lib/libdnnl.so.3";
  EXPECT_EQ(shorten(path, 40, kUnicode), "/opt/venv/…/mindspore/lib/libdnnl.so.3");
  EXPECT_EQ(shorten(path, 24, kUnicode), "/opt/…/lib/libdnnl.so.3");
  EXPECT_EQ(shorten(path, 20, kUnicode), "…/lib/libdnnl.so.3");
  EXPECT_EQ(shorten(path, 12, kUnicode), "libdnnl.so.3");
  EXPECT_EQ(shorten(path, 10, kUnicode), "lib…l.so.3");
}

TEST(Shorten, is_never_wider_than_asked) {
  const std::string texts[] = {"/数据/数据/数据",
                               "数据数据数据数据",
                               "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301",
                               "/a/",
                               "////////////",
                               "a b/c d/e f/g h",
                               "./x/yyyyyyyyyyyyyyyyyyyyyyyyyyy",
                               std::string(200, 'x')};
  for (const auto& text : texts)
    for (const auto& style : {kUnicode, kAscii})
      for (size_t width = 0; width < 30; ++width)
        EXPECT_LE(columns(shorten(printable(text, style), width, style)), width) << text << width;
}

TEST(Wrap, breaks_at_blanks_but_not_before_a_unit) {
  EXPECT_THAT(wrap("it took 4.71 s (38 %), so", 11, kUnicode),
              ElementsAre("it took", "4.71 s", "(38 %), so"));
  EXPECT_THAT(wrap("", 10, kUnicode), ElementsAre());
  EXPECT_THAT(wrap("one two · three", 8, kUnicode), ElementsAre("one", "two ·", "three"));
}

TEST(Wrap, shortens_a_word_that_is_too_long) {
  EXPECT_THAT(wrap("see /a/long/path/to/libx.so now", 12, kUnicode),
              ElementsAre("see", "…/to/libx.so", "now"));
}

TEST(Pack, breaks_between_parts) {
  EXPECT_THAT(pack({"one", "", "two", "three"}, 9, kUnicode), ElementsAre("one · two", "three"));
  EXPECT_THAT(pack({"one", "a part that is long", "x"}, 12, kUnicode),
              ElementsAre("one", "a part", "  that is", "  long", "x"));
}

TEST(Bar, has_eighths_and_never_hides_a_little) {
  EXPECT_EQ(bar(0, 4, kUnicode), "");
  EXPECT_EQ(bar(0.0001, 4, kUnicode), "▏");
  EXPECT_EQ(bar(0.5, 4, kUnicode), "██");
  EXPECT_EQ(bar(0.625, 4, kUnicode), "██▌");
  EXPECT_EQ(bar(7, 4, kUnicode), "████");
  EXPECT_EQ(bar(0.5, 4, kAscii), "##");
  EXPECT_EQ(bar(0.0001, 4, kAscii), "#");
}

TEST(Paint, writes_escapes_only_in_colour) {
  EXPECT_EQ(paint("x", Colour::red, kUnicode), "x");
  EXPECT_EQ(paint("x", Colour::red, {80, true, true}), "\x1b[31mx\x1b[0m");
  EXPECT_EQ(paint("", Colour::red, {80, true, true}), "");
}

TEST(CommandLine, quotes_what_a_shell_would_take_apart) {
  EXPECT_EQ(command_line({"python3", "-c", "print('a b')", ""}),
            "python3 -c 'print('\\''a b'\\'')' ''");
}

TextPlace terminal() {
  TextPlace place;
  place.terminal = true;
  place.columns = 120;
  place.term = "xterm";
  place.lang = "en_US.UTF-8";
  return place;
}

TEST(StyleFor, a_terminal_has_its_width_colour_and_locale) {
  const TextStyle style = style_for(terminal());
  EXPECT_EQ(style.width, 120U);
  EXPECT_TRUE(style.colour);
  EXPECT_TRUE(style.unicode);
}

TEST(StyleFor, a_file_has_no_colour_and_a_width_of_its_own) {
  TextPlace place = terminal();
  place.terminal = false;
  EXPECT_EQ(style_for(place).width, 100U);
  EXPECT_FALSE(style_for(place).colour);
}

TEST(StyleFor, respects_what_the_person_asked_for) {
  TextPlace place = terminal();
  place.no_color = "1";
  EXPECT_FALSE(style_for(place).colour);
  place.no_color = "";  // no-color.org: only when not empty
  EXPECT_TRUE(style_for(place).colour);
  place.term = "dumb";
  EXPECT_FALSE(style_for(place).colour);
  place.columns_wanted = "90";
  EXPECT_EQ(style_for(place).width, 90U);
  place.columns_wanted = "7";
  EXPECT_EQ(style_for(place).width, 40U);
  for (const char* nonsense : {"", "x", "-3", "0", "90x"}) {
    place.columns_wanted = nonsense;
    EXPECT_EQ(style_for(place).width, 120U) << nonsense;
  }
}

TEST(StyleFor, takes_the_first_locale_variable_that_is_set) {
  TextPlace place = terminal();
  place.lc_all = "C";
  EXPECT_FALSE(style_for(place).unicode);
  place.lc_all = "";
  place.lc_ctype = "C.utf8";
  EXPECT_TRUE(style_for(place).unicode);
  EXPECT_FALSE(style_for(TextPlace{}).unicode);
}

}  // namespace
}  // namespace jobscope
