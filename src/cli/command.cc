#include "src/cli/command.h"

#include <fmt/format.h>

namespace jobscope {

void print_error(const Error& error) {
  fmt::print(stderr, "jobscope: {}\n", error.what);
  if (!error.hint.empty()) fmt::print(stderr, "  {}\n", error.hint);
}

}  // namespace jobscope
