#include "src/output/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "src/base/utf8.h"

namespace jobscope {
namespace {

constexpr size_t kHang = 2;  // blanks before the further lines of a part that is wrapped

struct Range {
  char32_t first, last;
};

template <size_t N>
bool within(const std::array<Range, N>& ranges, char32_t code) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [code](const Range& r) { return code >= r.first && code <= r.last; });
}

// Controls, and characters that reorder, hide or break a line, or that nobody has assigned.
constexpr std::array<Range, 14> kHarmful{{
    {0, 0x1f},
    {0x7f, 0x9f},
    {0xad, 0xad},
    {0x61c, 0x61c},
    {0x180e, 0x180e},
    {0x200b, 0x200f},
    {0x2028, 0x202e},
    {0x2060, 0x206f},
    {0xe000, 0xf8ff},
    {0xfdd0, 0xfdef},
    {0xfeff, 0xfeff},
    {0xfff0, 0xfffb},
    {0xfffe, 0xffff},
    {0xe0000, 0x10ffff},
}};
// No column of their own: marks on the character before.
constexpr std::array<Range, 7> kMarks{{
    {0x300, 0x36f},
    {0x483, 0x489},
    {0x591, 0x5bd},
    {0x1ab0, 0x1aff},
    {0x1dc0, 0x1dff},
    {0x20d0, 0x20ff},
    {0xfe00, 0xfe0f},
}};
// Two columns: East Asian and emoji; some of these take one, none takes more.
constexpr std::array<Range, 15> kWide{{
    {0x1100, 0x115f},
    {0x231a, 0x231b},
    {0x23e9, 0x23f3},
    {0x25fd, 0x27bf},
    {0x2b1b, 0x2b55},
    {0x2e80, 0x303e},
    {0x3041, 0xa4cf},
    {0xa960, 0xa97f},
    {0xac00, 0xd7a3},
    {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},
    {0xff00, 0xff60},
    {0xffe0, 0xffe6},
    {0x1f000, 0x1faff},
    {0x20000, 0x3fffd},
}};

size_t columns_of(char32_t code) { return within(kMarks, code) ? 0 : within(kWide, code) ? 2 : 1; }

std::string_view plain_form(char32_t code) {
  switch (code) {
    case U'µ': return "u";
    case U'·': return "-";
    case U'×': return "x";
    case U'→': return "->";
    case U'≥': return ">=";
    case U'–': return "-";
    case U'…': return "...";
    default: return {};
  }
}

// The longest beginning, and the longest end, of at most `width` columns.
std::string_view first_columns(std::string_view text, size_t width) {
  size_t end = 0;
  for (size_t used = 0; end < text.size();) {
    const Character character = first_character(text.substr(end));
    used += columns_of(character.code);
    if (used > width) break;
    end += character.bytes;
  }
  return text.substr(0, end);
}

std::string_view last_columns(std::string_view text, size_t width) {
  size_t begin = text.size();
  for (size_t at = text.size(), used = 0; at > 0;) {
    --at;
    if ((static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80) continue;
    const size_t wide = columns_of(first_character(text.substr(at)).code);
    used += wide;
    if (used > width) break;
    if (wide > 0) begin = at;  // a mark alone would sit on the sign of the gap
  }
  return text.substr(begin);
}

// "/opt/…/lib/libdnnl.so.3": whole names of a path in `room` columns beside the gap; empty if not
// even its last name has room.
std::string shorten_path(std::string_view text, size_t room, std::string_view gap) {
  size_t tail = std::string_view::npos;
  for (size_t at = text.rfind('/'); at != std::string_view::npos && at > 0;
       at = text.rfind('/', at - 1)) {
    if (columns(text.substr(at)) > room) break;
    tail = at;
  }
  if (tail == std::string_view::npos) return {};
  const size_t left = room - columns(text.substr(tail));
  size_t head = 0;
  for (size_t at = text.find('/'); at < tail && columns(text.substr(0, at + 1)) <= left;
       at = text.find('/', at + 1))
    head = at + 1;
  if (head == 1) head = 0;  // "…/lib/x.so" says as much as "/…/lib/x.so"
  return std::string(text.substr(0, head)) + std::string(gap) + std::string(text.substr(tail));
}

bool is_path(std::string_view text) {
  return text.front() == '/' || text.front() == '.' ||
         (text.find('/') != std::string_view::npos && text.find(' ') == std::string_view::npos);
}

bool ends_in_figure(std::string_view word) {
  return !word.empty() && word.back() >= '0' && word.back() <= '9';
}

bool is_unit(std::string_view word) {
  while (!word.empty() && std::string_view(".,;:)").find(word.back()) != std::string_view::npos)
    word.remove_suffix(1);
  constexpr std::string_view kUnits[] = {"%",   "s",   "ms",  "µs",  "us",  "h", "min", "B",
                                         "KiB", "MiB", "GiB", "TiB", "PiB", "M", "G",   "T"};
  return std::find(std::begin(kUnits), std::end(kUnits), word) != std::end(kUnits);
}

std::optional<unsigned> number(const std::optional<std::string>& text) {
  unsigned value = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || value == 0) return std::nullopt;
  return value;
}

bool names_utf8(const TextPlace& place) {
  for (const auto* name : {&place.lc_all, &place.lc_ctype, &place.lang}) {
    if (!*name || (*name)->empty()) continue;
    std::string lower;
    for (const char c : **name)
      if (c != '-') lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return lower.find("utf8") != std::string::npos;
  }
  return false;
}

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace

TextStyle style_for(const TextPlace& place) {
  TextStyle style;
  style.width = std::max(kLeastWidth,
                         number(place.columns_wanted)
                             .value_or(place.terminal ? place.columns.value_or(80) : kFileWidth));
  style.colour = place.terminal && place.no_color.value_or("").empty() && place.term &&
                 !place.term->empty() && *place.term != "dumb";
  style.unicode = names_utf8(place);
  return style;
}

TextStyle style_for(int fd) {
  TextPlace place;
  place.terminal = isatty(fd) == 1;
  winsize size{};
  if (place.terminal && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    place.columns = size.ws_col;
  place.term = environment("TERM");
  place.no_color = environment("NO_COLOR");
  place.columns_wanted = environment("COLUMNS");
  place.lc_all = environment("LC_ALL");
  place.lc_ctype = environment("LC_CTYPE");
  place.lang = environment("LANG");
  return style_for(place);
}

std::string printable(std::string_view text, const TextStyle& style) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::string_view raw = text.substr(0, character.bytes);
    text.remove_prefix(character.bytes);
    if (character.valid && !within(kHarmful, character.code)) {
      if (style.unicode || character.code < 0x80) {
        out += raw;
        continue;
      }
      if (const auto plain = plain_form(character.code); !plain.empty()) {
        out += plain;
        continue;
      }
    }
    for (const char c : raw) {
      const auto byte = static_cast<unsigned char>(c);
      out += "\\x";
      out += kHex[byte >> 4U];
      out += kHex[byte & 0xfU];
    }
  }
  return out;
}

size_t columns(std::string_view text) {
  size_t total = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    total += columns_of(character.code);
    text.remove_prefix(character.bytes);
  }
  return total;
}

std::string shorten(std::string_view text, size_t width, const TextStyle& style) {
  if (text.size() <= width || columns(text) <= width) return std::string(text);
  const std::string_view gap = style.unicode ? "…" : "...";
  const size_t gap_width = columns(gap);
  if (width <= gap_width) return std::string(width, '.');
  const size_t room = width - gap_width;
  if (is_path(text)) {
    if (auto path = shorten_path(text, room, gap); !path.empty()) return path;
    text.remove_prefix(text.rfind('/') + 1);
    if (columns(text) <= width) return std::string(text);
  }
  const std::string_view head = first_columns(text, room / 3);
  return std::string(head) + std::string(gap) +
         std::string(last_columns(text.substr(head.size()), room - columns(head)));
}

std::vector<std::string> wrap(std::string_view text, size_t width, const TextStyle& style) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const bool belongs_to_last = word == "·" || word == "-" ||
                                 (!words.empty() && ends_in_figure(words.back()) && is_unit(word));
    if (!words.empty() && belongs_to_last)
      words.back().append(" ").append(word);
    else
      words.emplace_back(word);
  }
  std::vector<std::string> lines;
  size_t used = 0;
  for (const auto& word : words) {
    const std::string fitted = shorten(word, width, style);
    const size_t wide = columns(fitted);
    if (lines.empty() || used + 1 + wide > width) {
      lines.push_back(fitted);
      used = wide;
    } else {
      lines.back().append(" ").append(fitted);
      used += 1 + wide;
    }
  }
  return lines;
}

std::vector<std::string> pack(const std::vector<std::string>& parts, size_t width,
                              const TextStyle& style) {
  const std::string_view between = style.unicode ? " · " : " - ";
  std::vector<std::string> lines;
  bool open = false;  // the last line may take another part
  for (const auto& part : parts) {
    if (part.empty()) continue;
    if (open && columns(lines.back()) + 3 + columns(part) <= width) {
      lines.back().append(between).append(part);
      continue;
    }
    open = columns(part) <= width;
    if (open) {
      lines.push_back(part);
      continue;
    }
    auto wrapped = wrap(part, width - kHang, style);
    for (size_t i = 0; i < wrapped.size(); ++i)
      lines.push_back(std::string(i > 0 ? kHang : 0, ' ') + wrapped[i]);
  }
  return lines;
}

std::string bar(double share, size_t cells, const TextStyle& style) {
  if (!(share > 0) || cells == 0) return {};
  const double length = std::min(share, 1.0) * static_cast<double>(cells);
  std::string out;
  if (!style.unicode) {
    out.assign(std::max<size_t>(1, static_cast<size_t>(std::lround(length))), '#');
    return out;
  }
  constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = std::max<size_t>(1, static_cast<size_t>(std::lround(8 * length)));
  for (size_t i = 0; i < eighths / 8; ++i) out += "█";
  return out + kEighths[eighths % 8];
}

std::string paint(std::string_view text, Colour colour, const TextStyle& style) {
  if (!style.colour || colour == Colour::none || text.empty()) return std::string(text);
  constexpr std::array<const char*, 8> kCodes = {"", "1", "2", "31", "32", "33", "34", "36"};
  std::string out = "\x1b[";
  out += kCodes[static_cast<size_t>(colour)];
  out += 'm';
  out += text;
  return out + "\x1b[0m";
}

std::string command_line(const std::vector<std::string>& argv) {
  std::string line;
  for (const auto& word : argv) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_of(" \t\n'\"\\$`|&;<>()*?[]{}~#!") == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace jobscope
