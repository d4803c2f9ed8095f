// jobscope check: what works on this machine, what does not, and what to do about it.
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "src/base/caps.h"
#include "src/bpf/program_types.h"
#include "src/cli/command.h"
#include "src/output/terminal.h"
#include "src/session/probe.h"
#include "src/session/session.h"

namespace jobscope {
namespace {

constexpr int kNotAll = 1;  // something does not work

std::string_view word(ProbeStatus::State state) {
  switch (state) {
    case ProbeStatus::State::ok: return "ok";
    case ProbeStatus::State::degraded: return "degraded";
    default: return "unavailable";
  }
}

Colour colour_of(ProbeStatus::State state) {
  switch (state) {
    case ProbeStatus::State::ok: return Colour::green;
    case ProbeStatus::State::degraded: return Colour::yellow;
    default: return Colour::red;
  }
}

void print_line(std::string_view name, ProbeStatus::State state, std::string_view help,
                const TextStyle& style) {
  fmt::print("{:<10}{}{:{}}{}\n", name, paint(std::string(word(state)), colour_of(state), style),
             "", 13 - word(state).size(), help);
}

// What programs of a person's own can be attached to: the types that work, then the others, those
// with the same reason together.
void print_types(const std::vector<ProgramType>& types, const TextStyle& style) {
  std::vector<std::pair<std::string, std::string>> groups{{"", ""}};  // reason, names
  for (const ProgramType& type : types) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& g) { return g.first == type.lack; });
    if (group == groups.end()) group = groups.insert(group, {type.lack, ""});
    group->second += (group->second.empty() ? "" : " ") + type.name;
  }
  for (const auto& [lack, names] : groups) {
    if (names.empty()) continue;
    print_line("programs", lack.empty() ? ProbeStatus::State::ok : ProbeStatus::State::unavailable,
               names, style);
    if (!lack.empty()) fmt::print("{:10}{}\n", "", printable(lack, style));
  }
}

Result<int> check(const Invocation& invocation) {
  const TextStyle style = style_for(STDOUT_FILENO);
  utsname machine{};
  ::uname(&machine);
  fmt::print("jobscope {} · Linux {} · {}\n", JOBSCOPE_VERSION, machine.release, machine.machine);
  TRY(check_watch_privileges(invocation.argv));
  const std::unique_ptr<Session> session = TRY(Session::open());
  bool all = true;
  for (const ProbeStatus& status : session->probes()) {
    const bool ok = status.state == ProbeStatus::State::ok;
    all = all && ok;
    const char* help = "";
    for (const ProbeInfo* info : probe_table())
      if (status.name == info->name) help = info->help;
    print_line(status.name, status.state, help, style);
    if (!ok) fmt::print("{:10}{}\n", "", printable(status.reason, style));
  }
  print_types(probe_program_types(), style);
  return all ? 0 : kNotAll;
}

std::function<Result<int>()> declare_check(CLI::App& app, const Invocation& invocation) {
  app.footer("Exit code: 0 if all probes are ok, 1 if some are not, 2 if no job could be watched.");
  return [invocation] { return check(invocation); };
}

}  // namespace

const Command check_command{"check", "what works on this machine, what does not, and why", 2,
                            declare_check};

}  // namespace jobscope
