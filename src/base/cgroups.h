// Control groups, v1, v2 and hybrid.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace jobscope {

// What the functions below look at.
struct CgroupSources {
  std::string proc = "/proc";
  std::string root;  // where the mount points that `proc` tells lie: "" is "/"
};

// Path of the directory of a cgroup of the memory controller (or of the unified hierarchy) by its
// id, which is its inode number; "" if there is none (any more). Walks the hierarchy: for rare use.
std::string memory_cgroup_path(uint64_t id, const CgroupSources& sources = {});

// Where a process is in each hierarchy; a path is empty if that hierarchy is not mounted.
struct CgroupPlace {
  std::optional<std::string> unified, cpu, memory;
  bool operator==(const CgroupPlace&) const = default;
  // The one to show: of the unified hierarchy, or of the v1 CPU controller if it says more.
  std::string path() const;
};
// Empty if the process is gone.
std::optional<CgroupPlace> cgroup_of(uint32_t pid, const CgroupSources& sources = {});

// What the CPU and memory controllers say. An empty value: no limit, or not told.
struct CgroupLedger {
  std::optional<uint64_t> throttled_ns;  // so far, all CPUs of the group, and of those above it
  std::optional<double> cpu_limit;       // CPUs: the least of the group's and those above it
  std::optional<uint64_t> memory_limit;  // bytes: the same
};
CgroupLedger read_cgroup(const CgroupPlace& place, const CgroupSources& sources = {});

}  // namespace jobscope
