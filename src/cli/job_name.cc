#include "src/cli/job_name.h"

#include <string_view>

namespace jobscope {
namespace {

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::string job_name(const std::vector<std::string>& argv) {
  if (argv.empty()) return {};
  const std::string_view command = base_name(argv[0]);
  if (!command.starts_with("python")) return std::string(command);
  for (size_t i = 1; i < argv.size(); ++i) {
    if (argv[i] == "-m" && i + 1 < argv.size()) return argv[i + 1];
    if (argv[i] == "-W" || argv[i] == "-X") {  // options with a value
      ++i;
      continue;
    }
    if (argv[i].starts_with("-")) {
      if (argv[i] == "-c") break;
      continue;
    }
    std::string_view script = base_name(argv[i]);
    if (script.ends_with(".py")) script.remove_suffix(3);
    if (!script.empty()) return std::string(script);
  }
  return std::string(command);
}

}  // namespace jobscope
