// Parts of lists, as HTTP's headers and environment variables hold them.
#pragma once

#include <string_view>

namespace jobscope {

// Without blanks and tabs at its ends.
inline std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Takes what comes before `separator`, and the separator, off the text; all of it if there is none.
inline std::string_view take_until(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return trimmed(taken);
}

}  // namespace jobscope
