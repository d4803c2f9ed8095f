// A page of text: sections of lines, facts and tables, none wider than its style allows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/output/table.h"
#include "src/output/terminal.h"

namespace jobscope {

// All that is added is made printable here. Paragraphs are at most 100 columns wide.
class Page {
 public:
  explicit Page(const TextStyle& style) : style_(style) {}

  const TextStyle& style() const { return style_; }
  size_t width() const { return std::max(style_.width, kLeastWidth); }

  // A blank line, then a heading, and words beside it.
  void section(std::string_view heading, std::string_view beside = {});
  void blank() { text_ += '\n'; }
  // A paragraph: `indent` blanks before it, and as many before its further lines as `lead` is wide.
  void paragraph(std::string_view words, size_t indent = 2, Colour colour = Colour::none,
                 std::string_view lead = {});
  // A name in the left margin, and what is to be said of it.
  void fact(std::string_view name, std::string_view words);
  void table(const TextTable& table, size_t indent = 2);

  std::string take() { return std::move(text_); }

 private:
  TextStyle style_;
  std::string text_;
};

// "a · b · c", the empty ones left out.
std::string join(const std::vector<std::string>& parts, std::string_view between = " · ");

}  // namespace jobscope
