#include "src/trace/print_format.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/trace/figures.h"

namespace jobscope {

Result<PrintFormat> PrintFormat::parse(const std::string& text,
                                       const std::vector<std::string>& known) {
  PrintFormat format;
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c) {
      plain += c;
      ++i;
      continue;
    }
    if (c == '}') return fail("'}' without '{' in the format", "a brace itself is written '}}'");
    if (c != '{') {
      plain += c;
      continue;
    }
    const size_t end = text.find('}', i);
    if (end == std::string::npos)
      return fail("'{' without '}' in the format", "a brace itself is written '{{'");
    const std::string name = text.substr(i + 1, end - i - 1);
    if (std::ranges::find(known, name) == known.end()) {
      const auto near = nearest_names(name, known);
      return fail("there is no field '" + name + "'",
                  near.empty() ? fmt::format("there are {}", fmt::join(known, ", "))
                               : fmt::format("did you mean {}?", fmt::join(near, ", ")));
    }
    if (!plain.empty()) format.parts_.push_back({false, std::exchange(plain, {})});
    format.parts_.push_back({true, name});
    i = end;
  }
  if (!plain.empty()) format.parts_.push_back({false, plain});
  return format;
}

std::string PrintFormat::print(const std::function<std::string(const std::string&)>& value) const {
  std::string text;
  for (const Part& part : parts_) text += part.is_name ? value(part.text) : part.text;
  return text;
}

bool PrintFormat::uses(const std::string& name) const {
  return std::ranges::any_of(parts_,
                             [&](const Part& part) { return part.is_name && part.text == name; });
}

}  // namespace jobscope
