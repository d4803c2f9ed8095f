#include "src/cli/command.h"

#include <cstdio>

namespace jobscope {

void to_stderr(std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
}

void print_error(const Error& error) {
  std::string text = "jobscope: " + error.what;
  if (!error.hint.empty() && error.hint.find('\n') == std::string::npos) {
    text += "; " + error.hint;
  } else if (!error.hint.empty()) {
    text += "\n  ";
    for (const char c : error.hint) text += c == '\n' ? std::string("\n  ") : std::string(1, c);
  }
  to_stderr(text + "\n");
}

}  // namespace jobscope
