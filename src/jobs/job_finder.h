// Which job a process belongs to, found from outside: nothing is asked of the job.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace jobscope {

// The labels on every series of a job (docs/design.md). Empty: not known.
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
  };
  explicit JobFinder(Places places);
  ~JobFinder();

  // The job of a process, or of the process that a thread belongs to. Empty: of no job, or gone
  // before anybody asked. Remembered for the process's life and a while after, in bounded memory.
  std::optional<JobLabels> of_process(uint32_t pid);
  // The job of a cgroup, by its id (the inode of its directory).
  std::optional<JobLabels> of_cgroup(uint64_t id);
  // The processes of all jobs of this name, now.
  std::vector<uint32_t> processes_of(std::string_view job);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace jobscope
