// Text for a terminal or a file: what may be shown at all, how wide it is, colours and bars.
//
// Names come from the job, and a hostile one may carry terminal escapes or reorder the line. All
// text of a report passes through printable() before it is laid out; nothing else may be written.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace jobscope {

constexpr unsigned kLeastWidth = 40;
constexpr unsigned kFileWidth = 100;

struct TextStyle {
  unsigned width = kFileWidth;  // columns; less than kLeastWidth counts as kLeastWidth
  bool colour = false;
  bool unicode = true;  // false: ASCII only
};

// What is known of the place that text goes to, and what its person asked for.
struct TextPlace {
  bool terminal = false;
  std::optional<unsigned> columns;                            // as the terminal says
  std::optional<std::string> term, no_color, columns_wanted;  // $TERM, $NO_COLOR, $COLUMNS
  std::optional<std::string> lc_all, lc_ctype, lang;
};
TextStyle style_for(const TextPlace& place);
TextStyle style_for(int fd);

// The text with every byte that is not part of a harmless character shown as \xNN: control
// characters, invalid UTF-8, characters that reorder or hide text; without `unicode` all that is
// not ASCII, save a few signs that have a plain form (µ is u, · is -). Applied twice it does no
// more than once.
std::string printable(std::string_view text, const TextStyle& style);

// Columns that printable text takes.
size_t columns(std::string_view text);

// At most `width` columns of printable text: what is left out of its middle is shown as "…"
// ("..."). A path keeps whole names and above all its last ones: "/opt/…/lib/libdnnl.so.3".
std::string shorten(std::string_view text, size_t width, const TextStyle& style);

// Lines of at most `width` columns, broken at blanks, but never between a figure and its unit nor
// before a "·"; longer words are shortened.
std::vector<std::string> wrap(std::string_view text, size_t width, const TextStyle& style);

// Lines of parts with " · " between them, broken only between parts; a part that is too long for a
// line is wrapped, its further lines set in. Empty parts are left out.
std::vector<std::string> pack(const std::vector<std::string>& parts, size_t width,
                              const TextStyle& style);

// A bar of `share` (0..1) of `cells`, in eighths of a cell; any share above 0 leaves a mark.
std::string bar(double share, size_t cells, const TextStyle& style);

enum class Colour { none, bold, dim, red, green, yellow, blue, cyan };
// The text in this colour, or as it is if the style has no colours.
std::string paint(std::string_view text, Colour colour, const TextStyle& style);

// argv as a person would type it: words with blanks or quotes are quoted.
std::string command_line(const std::vector<std::string>& argv);

}  // namespace jobscope
