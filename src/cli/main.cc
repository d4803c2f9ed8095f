// jobscope: says where an AI job's time goes, and why, with nothing changed in the job.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "src/base/text.h"
#include "src/cli/command.h"
#include "src/cli/launch.h"

namespace jobscope {
namespace {

constexpr std::array<const Command*, 7> kCommands = {
    &run_command,    &attach_command,   &trace_command, &io_latency_command,
    &report_command, &programs_command, &check_command};
constexpr int kUsage = 2;

constexpr const char* kDescription =
    "jobscope says where an AI job's time goes, and why, with nothing changed in the job.";
constexpr const char* kFooter =
    "Start with:  jobscope run -- python train.py\n"
    "Each command has its own help:  jobscope run --help";

Error unknown_command(const std::string& name) {
  const auto nearest = *std::min_element(
      kCommands.begin(), kCommands.end(), [&](const Command* a, const Command* b) {
        return edits_between(name, a->name) < edits_between(name, b->name);
      });
  std::string hint = "'jobscope --help' lists the commands";
  if (edits_between(name, nearest->name) <= 2)
    hint = fmt::format("did you mean 'jobscope {}'?", nearest->name);
  return {fmt::format("there is no command '{}'", name), hint, 0};
}

// The command that the arguments name, if they name one.
const Command* find_command(const std::string& name) {
  const auto found = std::find_if(kCommands.begin(), kCommands.end(),
                                  [&](const Command* command) { return command->name == name; });
  return found == kCommands.end() ? nullptr : *found;
}

// Exit code of a failure before or outside of a command.
int failure_of(const std::string& name) {
  const Command* command = find_command(name);
  return command ? command->failure : kUsage;
}

int main_of_command(const Command& command, const Invocation& invocation) {
  CLI::App app(command.help, fmt::format("jobscope {}", command.name));
  const auto run = command.declare(app, invocation);
  const auto argv = invocation.argv.subspan(1);
  try {
    app.parse(static_cast<int>(argv.size()), argv.data());
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    print_error(
        {error.what(), fmt::format("'jobscope {} --help' lists its options", command.name), 0});
    return command.failure;
  }
  const Result<int> code = run();
  if (code) return *code;
  print_error(code.error());
  return command.failure;
}

int main_of_program(std::span<const char* const> argv) {
  const std::string first = argv.size() > 1 ? argv[1] : "--help";
  if (const Result<> held = hold_standard_descriptors(); !held) {
    print_error(held.error());
    return failure_of(first);
  }
  if (first == "--version" || first == "-V") {
    fmt::print("jobscope {}\n", JOBSCOPE_VERSION);
    return 0;
  }
  if (first == "--help" || first == "-h" || first == "help") {
    if (argv.size() > 2) {
      const Command* command = find_command(argv[2]);
      if (!command) {
        print_error(unknown_command(argv[2]));
        return kUsage;
      }
      const std::array<const char*, 3> help = {argv[0], argv[2], "--help"};
      return main_of_command(*command, {help});
    }
    fmt::print("{}\n\nUsage: jobscope COMMAND [options]\n\nCommands:\n", kDescription);
    for (const Command* command : kCommands)
      fmt::print("  {:<12}{}\n", command->name, command->help);
    fmt::print("\n{}\n", kFooter);
    return argv.size() > 1 ? 0 : kUsage;
  }
  const Command* command = find_command(first);
  if (!command) {
    print_error(first.starts_with("-")
                    ? Error{fmt::format("there is no option '{}'", first),
                            "options come after a command; 'jobscope --help' lists the commands", 0}
                    : unknown_command(first));
    return kUsage;
  }
  return main_of_command(*command, {argv});
}

}  // namespace
}  // namespace jobscope

int main(int argc, char** argv) {
  const std::span<const char* const> words(argv, static_cast<size_t>(argc));
  const std::string first = argc > 1 ? argv[1] : "";
  try {
    const int code = jobscope::main_of_program(words);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    jobscope::print_error({"cannot write to standard output", {}, 0});
  } catch (const std::exception& error) {  // of a library, or no memory
    jobscope::print_error({error.what(), {}, 0});
  }
  return jobscope::failure_of(first);
}
