#include "src/cli/command.h"

#include <fmt/format.h>

namespace jobscope {

void print_error(const Error& error) {
  std::string text = "jobscope: " + error.what;
  if (!error.hint.empty() && error.hint.find('\n') == std::string::npos) {
    text += "; " + error.hint;
  } else if (!error.hint.empty()) {
    text += "\n  ";
    for (const char c : error.hint) text += c == '\n' ? std::string("\n  ") : std::string(1, c);
  }
  fmt::print(stderr, "{}\n", text);
}

}  // namespace jobscope
