// What the path of a cgroup says of who made it: a container engine, a kubelet, Slurm.
#pragma once

#include <string>
#include <string_view>

namespace jobscope {

struct CgroupIdentity {
  std::string container;  // its id: 64 hexadecimal digits, as all engines write it
  bool in_pod = false;    // of Kubernetes
  std::string slurm_job, slurm_step, slurm_user;  // numbers; a step may be "batch", "extern" …
  std::string path;                               // of the hierarchy that said so
  bool operator==(const CgroupIdentity&) const = default;
};

// Of one path. The innermost container counts: of one in a container, that one's.
CgroupIdentity identify_cgroup(std::string_view path);
// Of the text of /proc/PID/cgroup, v1, v2 or both: of the hierarchy that says most.
CgroupIdentity identify_cgroups(std::string_view text);

// The first 12 digits, as engines show an id.
std::string short_id(const std::string& container);

}  // namespace jobscope
