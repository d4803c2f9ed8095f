// Columns of text that fit a width.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/output/terminal.h"

namespace jobscope {

struct Column {
  std::string heading;
  enum class Align { left, right } align = Align::left;
  // Cells of this column may be shortened in their middle, down to so many columns; 0: never.
  size_t least = 0;
  // When the table is too wide, whole columns go: those with the highest figure first. 0: never.
  int drop = 0;
  // Only for the last column: its cells wrap, beside the row if there is room, else below it.
  bool note = false;
};

struct Cell {
  Cell(std::string words, Colour paint_as = Colour::none)  // NOLINT: a text is a cell
      : text(std::move(words)), colour(paint_as) {}
  Cell(const char* words) : text(words) {}  // NOLINT: a text is a cell
  std::string text;
  Colour colour = Colour::none;
};

// Rows under headings. Without any heading no line of headings is written.
class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Cells that are missing are empty; those too many are left out.
  void row(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }
  // Lines of at most style.width columns, `indent` blanks before each, none after. All text is
  // made printable. A column with no text in any row is left out, its heading too.
  std::vector<std::string> lines(size_t indent, const TextStyle& style) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace jobscope
