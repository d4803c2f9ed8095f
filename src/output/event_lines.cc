#include "src/output/event_lines.h"

#include <algorithm>

namespace jobscope {
namespace {

constexpr size_t kGap = 1;
constexpr size_t kLeastLast = 8;  // columns of text that the last cell always gets

}  // namespace

EventLayout::EventLayout(std::vector<EventColumn> columns, size_t time_width,
                         const TextStyle& style, bool fit)
    : columns_(std::move(columns)),
      time_width_(time_width),
      style_(style),
      fit_(fit),
      shown_(columns_.size(), true) {
  if (!fit_) return;
  const size_t width = std::max(style_.width, kLeastWidth);
  while (true) {
    size_t sum = time_width_;
    for (size_t i = 0; i < columns_.size(); ++i)
      if (shown_[i]) sum += kGap + columns_[i].width;
    if (sum <= width) return;
    size_t first = columns_.size();
    for (size_t i = 0; i < columns_.size(); ++i)
      if (shown_[i] && columns_[i].drop &&
          (first == columns_.size() || columns_[i].drop > columns_[first].drop))
        first = i;
    if (first == columns_.size()) return;
    shown_[first] = false;
  }
}

std::string EventLayout::row(std::string_view time, const std::vector<std::string>& cells) const {
  std::string text(time);
  size_t used = jobscope::columns(time);  // what the line takes so far
  size_t planned = time_width_;           // and what the columns so far are to take
  size_t last = columns_.size();
  for (size_t i = 0; i < columns_.size(); ++i)
    if (shown_[i]) last = i;
  const size_t width = std::max(style_.width, kLeastWidth);
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!shown_[i]) continue;
    std::string cell = i < cells.size() ? printable(cells[i], style_) : "";
    planned += kGap;
    const size_t from = std::max(planned, used + kGap);
    if (fit_ && i == last)
      cell = shorten(cell, std::max(kLeastLast, width > from ? width - from : 0), style_);
    const size_t takes = jobscope::columns(cell);
    size_t start = from;
    planned += columns_[i].width;
    // A number keeps its right edge as far as what was before leaves room.
    if (columns_[i].right && from + takes < planned) start = planned - takes;
    if (takes) {
      text.append(start - used, ' ');
      text += cell;
      used = start + takes;
    }
  }
  return text + "\n";
}

std::string EventLayout::header() const {
  std::vector<std::string> headings;
  for (const EventColumn& column : columns_) headings.push_back(column.heading);
  std::string line = row("TIME", headings);
  line.pop_back();
  return paint(line, Colour::bold, style_) + "\n";
}

std::string EventLayout::line(std::string_view time, const EventLine& event) const {
  return row(time, event.cells);
}

}  // namespace jobscope
