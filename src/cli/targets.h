// Which processes a person means.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/result.h"

namespace jobscope {

// One of the ways to name running processes; exactly one field is set.
struct Target {
  uint32_t pid = 0;       // this process and all below it
  std::string cgroup;     // path of a control group, as in /proc/PID/cgroup or under /sys/fs/cgroup
  std::string container;  // id of a container, or its first 12 digits or more
  std::string comm;       // name of processes; each with all below it
};

// What the functions below look at.
struct TargetSources {
  std::string proc = "/proc";
  std::string cgroups = "/sys/fs/cgroup";
};

// The processes, now. An error if there are none; its hint says why that may be.
Result<std::vector<uint32_t>> find_processes(const Target& target,
                                             const TargetSources& sources = {});
// How a report calls the job.
std::string target_name(const Target& target, const std::vector<uint32_t>& pids,
                        const TargetSources& sources = {});

}  // namespace jobscope
