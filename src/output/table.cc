#include "src/output/table.h"

#include <algorithm>
#include <utility>

namespace jobscope {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kLeastNote = 24;  // columns: a narrower note goes below its row
constexpr size_t kNoteIndent = 4;

// What one layout of a table knows: the columns that are shown and how wide each is.
struct Layout {
  std::vector<size_t> shown;   // indices of columns
  std::vector<size_t> widths;  // by index of column
  size_t note_beside = 0;      // width for notes beside their rows; 0: below
};

size_t total(const Layout& layout, size_t indent) {
  size_t sum = indent;
  for (size_t i = 0; i < layout.shown.size(); ++i)
    sum += layout.widths[layout.shown[i]] + (i > 0 ? kGap : 0);
  return sum;
}

// Takes room from the widest column that may give some, until the rest fits or none is left.
void shrink(Layout& layout, const std::vector<Column>& columns, size_t indent, size_t width) {
  while (total(layout, indent) > width) {
    size_t* widest = nullptr;
    for (const size_t i : layout.shown) {
      const size_t least = columns[i].least;
      if (least > 0 && layout.widths[i] > least &&
          (widest == nullptr || layout.widths[i] > *widest))
        widest = &layout.widths[i];
    }
    if (widest == nullptr) return;
    --*widest;
  }
}

// Leaves out the column that is missed least. False if all must stay.
bool drop_one(Layout& layout, const std::vector<Column>& columns) {
  auto least = layout.shown.end();
  for (auto it = layout.shown.begin(); it != layout.shown.end(); ++it)
    if (columns[*it].drop > (least == layout.shown.end() ? 0 : columns[*least].drop)) least = it;
  if (least == layout.shown.end()) return false;
  layout.shown.erase(least);
  return true;
}

Layout fit(const std::vector<Column>& columns, const std::vector<size_t>& natural, size_t indent,
           size_t width) {
  Layout layout;
  for (size_t i = 0; i < columns.size(); ++i)
    if (natural[i] > 0 && !columns[i].note) layout.shown.push_back(i);
  while (true) {
    layout.widths = natural;
    shrink(layout, columns, indent, width);
    if (total(layout, indent) <= width || !drop_one(layout, columns)) break;
  }
  // Nothing may be wider than asked for: the last resort cuts whatever is widest.
  while (total(layout, indent) > width) {
    size_t widest = layout.shown.front();
    for (const size_t i : layout.shown)
      if (layout.widths[i] > layout.widths[widest]) widest = i;
    if (layout.widths[widest] <= 1) break;
    --layout.widths[widest];
  }
  return layout;
}

// Gives back the room that shortened cells do not use: a path is cut between its names.
void tighten(Layout& layout, const std::vector<std::vector<Cell>>& rows, const TextStyle& style) {
  for (const size_t i : layout.shown) {
    size_t widest = 0;
    for (const auto& row : rows)
      widest = std::max(widest, jobscope::columns(shorten(row[i].text, layout.widths[i], style)));
    layout.widths[i] = widest;
  }
}

// A line as far as it is written, and the blanks to be written before anything that follows.
struct Line {
  std::string text;
  size_t blanks = 0;
};

Line cells(const std::vector<Cell>& row, const std::vector<Column>& columns, const Layout& layout,
           size_t indent, const TextStyle& style) {
  Line line{std::string(indent, ' '), 0};
  for (const size_t i : layout.shown) {
    const std::string text = shorten(row[i].text, layout.widths[i], style);
    const size_t rest = layout.widths[i] - jobscope::columns(text);
    const bool right = columns[i].align == Column::Align::right;
    if (i != layout.shown.front()) line.blanks += kGap;
    if (right) line.blanks += rest;
    if (!text.empty()) {
      line.text.append(line.blanks, ' ');
      line.text += paint(text, row[i].colour, style);
      line.blanks = 0;
    }
    if (!right) line.blanks += rest;
  }
  return line;
}

// The line with its note beside it, or below it if there is no room.
void add_note(std::vector<std::string>& lines, Line line, const Cell& note, const Layout& layout,
              size_t indent, const TextStyle& style) {
  const bool beside = layout.note_beside > 0;
  const size_t left = beside ? total(layout, indent) + kGap : indent + kNoteIndent;
  const size_t room = beside ? layout.note_beside : std::max(style.width, kLeastWidth) - left;
  if (beside)
    line.text.append(line.blanks + kGap, ' ');
  else
    lines.push_back(std::exchange(line.text, std::string(left, ' ')));
  for (const auto& words : wrap(note.text, room, style)) {
    lines.push_back(line.text + paint(words, note.colour, style));
    line.text.assign(left, ' ');
  }
}

}  // namespace

void TextTable::row(std::vector<Cell> cells) {
  cells.resize(columns_.size(), Cell(""));
  rows_.push_back(std::move(cells));
}

std::vector<std::string> TextTable::lines(size_t indent, const TextStyle& style) const {
  const size_t width = std::max(style.width, kLeastWidth);
  std::vector<std::vector<Cell>> rows = rows_;
  std::vector<size_t> natural(columns_.size(), 0);
  for (auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      row[i].text = printable(row[i].text, style);
      natural[i] = std::max(natural[i], jobscope::columns(row[i].text));
    }
  std::vector<Cell> headings;
  bool headed = false;
  for (size_t i = 0; i < columns_.size(); ++i) {
    headings.emplace_back(printable(columns_[i].heading, style), Colour::dim);
    headed = headed || !headings[i].text.empty();
    if (natural[i] > 0) natural[i] = std::max(natural[i], jobscope::columns(headings[i].text));
  }
  if (headed) rows.insert(rows.begin(), std::move(headings));

  const bool notes = !columns_.empty() && columns_.back().note && natural.back() > 0;
  Layout layout = fit(columns_, natural, indent, width);
  tighten(layout, rows, style);
  const size_t used = total(layout, indent) + kGap;
  if (notes && used + kLeastNote <= width) layout.note_beside = width - used;
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    Line line = cells(row, columns_, layout, indent, style);
    if (notes && !row.back().text.empty()) {
      add_note(lines, std::move(line), row.back(), layout, indent, style);
    } else {
      lines.push_back(std::move(line.text));
    }
  }
  return lines;
}

}  // namespace jobscope
