#include "src/output/page.h"

#include <algorithm>

namespace jobscope {
namespace {

constexpr size_t kWidestParagraph = 100;
constexpr size_t kMargin = 11;  // columns for the name of a fact

}  // namespace

void Page::headline(std::string_view what, std::string_view end, Colour colour) {
  text_ += paint(printable(what, style_), Colour::bold, style_);
  if (!end.empty())
    text_ += printable(" · ", style_) + paint(printable(end, style_), colour, style_);
  text_ += '\n';
}

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
  lines(wrap(printable(words, style_), room, style_), std::string(indent, ' ') + first, left,
        colour);
}

void Page::list(const std::vector<std::string>& parts, size_t indent, Colour colour) {
  const size_t room = std::min(width(), kWidestParagraph) - indent;
  lines(pack(printable_parts(parts), room, style_), std::string(indent, ' '), indent, colour);
}

void Page::fact(std::string_view name, const std::vector<std::string>& parts, Colour colour) {
  const std::string head = shorten(printable(name, style_), kMargin - 1, style_);
  std::string margin = paint(head, Colour::bold, style_);
  margin.append(kMargin - columns(head), ' ');
  const size_t room = std::min(width(), kWidestParagraph) - kMargin;
  lines(pack(printable_parts(parts), room, style_), std::move(margin), kMargin, colour);
}

void Page::table(const TextTable& table, size_t indent) {
  for (const auto& line : table.lines(indent, style_)) text_ += line + '\n';
}

std::vector<std::string> Page::printable_parts(const std::vector<std::string>& parts) const {
  std::vector<std::string> result;
  result.reserve(parts.size());
  for (const auto& part : parts) result.push_back(printable(part, style_));
  return result;
}

void Page::lines(const std::vector<std::string>& lines, std::string margin, size_t left,
                 Colour colour) {
  for (const auto& line : lines) {
    text_ += margin + paint(line, colour, style_) + '\n';
    margin.assign(left, ' ');
  }
}

}  // namespace jobscope
