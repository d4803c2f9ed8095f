#include "src/cli/command.h"

#include <poll.h>
#include <unistd.h>

#include "src/base/output_file.h"
#include "src/output/terminal.h"

namespace jobscope {

void to_stderr(std::string_view text) { (void)write_all(STDERR_FILENO, text); }

bool stderr_takes_text() {
  pollfd writable{STDERR_FILENO, POLLOUT, 0};
  return ::poll(&writable, 1, 0) == 1 && (writable.revents & POLLOUT) != 0;
}

void print_error(const Error& error) {
  const TextStyle style = style_for(STDERR_FILENO);
  std::string text = "jobscope: " + printable(error.what, style);
  std::string_view hint = error.hint;
  if (!hint.empty() && hint.find('\n') == std::string::npos) {
    text += "; " + printable(hint, style);
  } else {
    while (!hint.empty()) {
      const size_t end = hint.find('\n');
      text += "\n  " + printable(hint.substr(0, end), style);
      hint.remove_prefix(end == std::string_view::npos ? hint.size() : end + 1);
    }
  }
  to_stderr(text + "\n");
}

}  // namespace jobscope
