// Small work on text: parts of lists as HTTP's headers and environment variables hold them, and
// names that somebody misspelt.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
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

// With "%41" as "A" (RFC 3986, 2.1). Empty if a '%' is followed by something else.
std::optional<std::string> percent_decoded(std::string_view text);

// Characters to insert, leave out or exchange to make one word of the other; given up, with a
// larger number than `most`, where their lengths alone are further apart.
size_t edits_between(std::string_view a, std::string_view b,
                     size_t most = std::numeric_limits<size_t>::max() / 2);

}  // namespace jobscope
