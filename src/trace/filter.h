// Whom a trace is about, and whose processes are which job's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/bpf/skeleton.h"
#include "src/jobs/job_finder.h"
#include "src/trace/records.h"

namespace jobscope {

struct TraceFilter {
  std::string job;                              // "": any
  std::function<std::vector<uint32_t>()> pids;  // processes, now; empty: any
  std::string comm;                             // of the thread or its process; "": any
  uint32_t device = 0;                          // disk, in the kernel's form; 0: any
  bool by_process() const { return pids || !job.empty(); }
  bool any() const { return by_process() || !comm.empty() || device; }
};

// Judges processes for one object that includes src/trace/filter.bpf.h. A process of the job, or
// one that was named, passes; its children do from their birth, and stay even if they leave it.
// While a process is not yet judged, what it does is told and judged here.
class Followed {
 public:
  // `name_jobs`: job_of() will be asked, so every new process is looked at while it is there.
  Followed(TraceFilter filter, JobFinder& finder, bool name_jobs)
      : filter_(std::move(filter)), finder_(&finder), name_jobs_(name_jobs) {}

  // Between open and load.
  template <class S>
  void prepare(Skeleton<S>& skeleton) const {
    auto* knobs = skeleton->rodata;
    knobs->by_process = filter_.by_process();
    knobs->pass_unknown = !filter_.job.empty();
    knobs->tell_processes = tells_processes();
    filter_.comm.copy(reinterpret_cast<char*>(const_cast<unsigned long long*>(knobs->wanted_comm)),
                      sizeof(knobs->wanted_comm) - 1);
    const auto& p = skeleton->progs;
    const bool follow = filter_.by_process() || tells_processes();
    bpf_program__set_autoload(p.follow_fork, follow);
    bpf_program__set_autoload(p.follow_exec, follow);
    bpf_program__set_autoload(p.follow_exit, filter_.by_process());
  }

  // After the load, and after the object's own programs are attached: theirs run first then.
  template <class S>
  Result<> attach(Skeleton<S>& skeleton) {
    verdicts_ = bpf_map__fd(skeleton->maps.verdicts);
    const auto& p = skeleton->progs;
    for (bpf_program* program : {p.follow_fork, p.follow_exec, p.follow_exit})
      if (bpf_program__autoload(program)) links_.push_back(TRY(jobscope::attach(program)));
    return begin();
  }

  // A record of the ring.
  void take(const new_process& process);
  // Whether an event of this process is wanted, by the verdict that came with it.
  bool wants(uint32_t pid, uint32_t verdict);
  // "" if it has none or that is not known. Only with `name_jobs` or a job to filter by.
  std::string job_of(uint32_t pid);
  // Processes that pass, now; 0 without a filter by process.
  size_t living() const;
  // Whether any was met so far.
  bool met() const { return met_; }
  // Events of processes that were gone before anybody could tell whether they are the job's.
  uint64_t unjudged() const { return unjudged_; }
  const TraceFilter& filter() const { return filter_; }

 private:
  bool tells_processes() const { return name_jobs_ || !filter_.job.empty(); }
  Result<> begin();
  verdict judge(uint32_t pid);
  void set(uint32_t pid, verdict verdict);

  TraceFilter filter_;
  JobFinder* finder_;
  bool name_jobs_;
  int verdicts_ = -1;
  bool met_ = false;
  uint64_t unjudged_ = 0;
  std::unordered_map<uint32_t, std::string> jobs_;  // by process; as long as they may be asked for
  std::vector<Link> links_;
};

}  // namespace jobscope
