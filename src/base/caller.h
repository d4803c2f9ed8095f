// The person a job is run for: who they are, and their own environment.
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/caps.h"
#include "src/base/result.h"

namespace jobscope {

// What the kernel checks a process by.
struct Identity {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
};

struct Caller {
  Identity id;
  std::string name;  // login name; the number as text if it has none
  std::string home;
  std::string shell;
  std::vector<std::string> environment;  // NAME=value, of a job started for them
  // The program that changed who we are: "sudo", "doas", "pkexec"; "" if we run as the caller.
  std::string through;
  // That program is our parent: the terminal it may have made for us is for us alone.
  bool through_parent = false;

  // Value of a variable of `environment`.
  std::optional<std::string_view> variable(std::string_view variable) const;
};

// What find_caller looks at.
struct CallerSources {
  std::string proc = "/proc";
  pid_t parent = 0;
  Identity id;                           // real ids and groups of this process
  std::vector<std::string> environment;  // as this process got it
  static CallerSources of_this_process();
};

// Who called us. Under sudo (doas, pkexec): the person who called it, with the environment they
// called it in, which sudo resets for us but still has itself; variables given to sudo (`sudo A=1
// jobscope`) or kept by it come on top. If sudo is no longer there (a root shell opened by sudo),
// the environment is ours with home, name and shell set right; PATH stays, for there the person's
// commands were found. Otherwise: ourselves, with our environment.
Result<Caller> find_caller(const CallerSources& sources);
// Ourselves, whoever called (`--as-root`).
Caller this_process(const CallerSources& sources);

// From now on this process is `who`, for good, and keeps no capabilities but `keep`: what it writes
// is theirs, and it may signal their processes without CAP_KILL. Only before there are threads.
Result<> become(const Identity& who, std::span<const Capability> keep);

}  // namespace jobscope
