// Which job a process belongs to, found from outside: nothing is asked of the job.
//
// The first that holds; docs/jobs.md has the details.
//
//   jobscope run         the process is `jobscope run … CMD` or descends from it: --name, else as
//                        `run` calls the job
//   OpenPAI              PAI_JOB_NAME in its environment, or that of DLWorkspace, OpenPAI's kin
//   Slurm                SLURM_JOB_ID in its environment, else the cgroup that Slurm made
//   Kubernetes           a kubelet's cgroup: the pod's name (HOSTNAME), less what controllers add
//   container            the cgroup of a container: the first 12 digits of its id
//   process tree         it or one above it maps an AI framework: as `run` would call the topmost
//                        process of that user and session that runs Python
//
// What a process's environment says is inherited by those below it in the same container that have
// none of their own. Whoever writes an environment can lie, but only about itself and those below.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/clock.h"

namespace jobscope {

// The labels on every series of a job (docs/design.md). Empty: not known. At most 256 bytes each,
// and any bytes: they are as the process or its launcher wrote them.
struct JobLabels {
  std::string job, user, role, index, instance;
  bool operator==(const JobLabels&) const = default;
};

// Not for use from several threads at once.
class JobFinder {
 public:
  struct Places {
    std::string proc = "/proc";
    std::string cgroups = "/sys/fs/cgroup";
    std::string passwd = "/etc/passwd";  // names of users; no service is asked for others
    // Path of a cgroup below the root of the unified hierarchy, by id; "" if it is not known.
    std::function<std::string(uint64_t)> cgroup_path = [](uint64_t) { return std::string(); };
    std::function<uint64_t()> now = monotonic_now;
    size_t remembered = 65'536;  // processes and threads; those asked for longest ago are forgotten
  };
  explicit JobFinder(Places places);
  ~JobFinder();

  // The job of a process, or of the process that a thread belongs to. Empty: of no job, or gone
  // before anybody asked. Remembered for the process's life and a while after, in bounded memory.
  // "No job" is asked again after a second: a framework may be loaded later.
  std::optional<JobLabels> of_process(uint32_t pid);
  // The job of a cgroup, by its id (the inode of its directory): that of its processes, if they are
  // all of one, with those labels that they agree on. Remembered after the cgroup is gone.
  std::optional<JobLabels> of_cgroup(uint64_t id);
  // The processes of all jobs of this name, now.
  std::vector<uint32_t> processes_of(std::string_view job);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace jobscope
