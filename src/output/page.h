// A page of text: sections of lines, facts and tables, none wider than its style allows.
#pragma once

#include <algorithm>
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

  // The first line: what is told of, in bold, and how it ended; the caller has seen that it fits.
  void headline(std::string_view what, std::string_view end, Colour colour);
  // A blank line, then a heading, and words beside it.
  void section(std::string_view heading, std::string_view beside = {});
  void blank() { text_ += '\n'; }
  // A paragraph: `indent` blanks before it, and as many before its further lines as `lead` is wide.
  void paragraph(std::string_view words, size_t indent = 2, Colour colour = Colour::none,
                 std::string_view lead = {});
  // The same for parts with " · " between them: lines break there.
  void list(const std::vector<std::string>& parts, size_t indent = 2, Colour colour = Colour::none);
  // A name in the left margin, and what is to be said of it, in parts.
  void fact(std::string_view name, const std::vector<std::string>& parts,
            Colour colour = Colour::none);
  void table(const TextTable& table, size_t indent = 2);

  std::string take() { return std::move(text_); }

 private:
  std::vector<std::string> printable_parts(const std::vector<std::string>& parts) const;
  void lines(const std::vector<std::string>& lines, std::string margin, size_t left, Colour colour);

  TextStyle style_;
  std::string text_;
};

}  // namespace jobscope
