// jobscope check: what works on this machine, what does not, and what to do about it.
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <memory>

#include "src/base/caps.h"
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
    const Colour colour = ok                                             ? Colour::green
                          : status.state == ProbeStatus::State::degraded ? Colour::yellow
                                                                         : Colour::red;
    fmt::print("{:<10}{}{:{}}{}\n", status.name,
               paint(std::string(word(status.state)), colour, style), "",
               13 - word(status.state).size(), help);
    if (!ok) fmt::print("{:10}{}\n", "", printable(status.reason, style));
  }
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
