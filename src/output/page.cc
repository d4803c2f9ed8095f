#include "src/output/page.h"

#include <algorithm>

namespace jobscope {
namespace {

constexpr size_t kWidestParagraph = 100;
constexpr size_t kMargin = 11;  // columns for the name of a fact

}  // namespace

void Page::section(std::string_view heading, std::string_view beside) {
  blank();
  const std::string head = printable(heading, style_);
  const std::string rest = printable(beside, style_);
  const size_t room = width() - std::min(width(), columns(head));
  text_ += paint(shorten(head, width(), style_), Colour::bold, style_);
  if (!rest.empty() && room > 8) text_ += "  " + shorten(rest, room - 2, style_);
  text_ += '\n';
}

void Page::paragraph(std::string_view words, size_t indent, Colour colour, std::string_view lead) {
  const std::string first = printable(lead, style_);
  const size_t left = indent + columns(first);
  const size_t room = std::min(width(), kWidestParagraph) - left;
  std::string margin = std::string(indent, ' ') + first;
  for (const auto& line : wrap(printable(words, style_), room, style_)) {
    text_ += margin + paint(line, colour, style_) + '\n';
    margin.assign(left, ' ');
  }
}

void Page::fact(std::string_view name, std::string_view words) {
  const std::string head = printable(name, style_);
  std::string margin = paint(head, Colour::bold, style_);
  margin.append(kMargin - std::min(kMargin, columns(head)), ' ');
  const size_t room = std::min(width(), kWidestParagraph) - kMargin;
  for (const auto& line : wrap(printable(words, style_), room, style_)) {
    text_ += margin + line + '\n';
    margin.assign(kMargin, ' ');
  }
}

void Page::table(const TextTable& table, size_t indent) {
  for (const auto& line : table.lines(indent, style_)) text_ += line + '\n';
}

std::string join(const std::vector<std::string>& parts, std::string_view between) {
  std::string out;
  for (const auto& part : parts) {
    if (part.empty()) continue;
    if (!out.empty()) out += between;
    out += part;
  }
  return out;
}

}  // namespace jobscope
