#include "src/jobs/job_name.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace jobscope {
namespace {

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// The options of `run` that stand alone; each other one has a value.
constexpr std::array<std::string_view, 4> kFlags = {"--as-root", "--progress", "--help", "-h"};

// True if the option's value is the next word.
bool value_follows(std::string_view option) {
  if (std::find(kFlags.begin(), kFlags.end(), option) != kFlags.end()) return false;
  return option.starts_with("--") ? option.find('=') == std::string_view::npos : option.size() == 2;
}

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

bool is_jobscope(const std::vector<std::string>& argv) {
  return argv.size() > 1 && base_name(argv[0]) == "jobscope";
}

std::optional<std::string> name_of_run(const std::vector<std::string>& argv) {
  constexpr std::string_view kName = "--name";
  if (!is_jobscope(argv) || argv[1] != "run") return std::nullopt;
  std::string name;
  size_t i = 2;
  for (; i < argv.size() && argv[i].starts_with("-"); ++i) {
    const std::string_view option = argv[i];
    if (option == "--") {
      ++i;
      break;
    }
    if (option.starts_with(kName) && option.substr(kName.size()).starts_with("="))
      name = option.substr(kName.size() + 1);
    if (!value_follows(option)) continue;
    ++i;
    if (option == kName && i < argv.size()) name = argv[i];
  }
  if (i >= argv.size()) return std::nullopt;  // it will refuse to start
  if (!name.empty()) return name;
  return job_name({argv.begin() + static_cast<std::ptrdiff_t>(i), argv.end()});
}

}  // namespace jobscope
