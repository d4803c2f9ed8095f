// One session: a job under observation, from the first mark to the last look.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/model/snapshot.h"

namespace jobscope {

// Single-threaded: all calls come from one thread. Destroying it takes everything out of the
// kernel.
class Session {
 public:
  // Loads membership and all probes. Fails only if no job could be watched at all; a probe that
  // cannot work here says so in Snapshot::probes.
  static Result<std::unique_ptr<Session>> open();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Makes all threads of these processes members; their children will be. Repeats until no new
  // thread is found, so that none escapes by a fork at the wrong moment.
  Result<> adopt(std::span<const uint32_t> pids);

  // The root of a job that is about to start: a member from its exec on.
  Result<> adopt_at_exec(uint32_t pid);

  // Readable when there is enough to drain; also call drain() some ten times a second.
  int events_fd() const;
  // Takes what happened, and does the work that is due (looking at memory maps, emptying maps).
  void drain();
  // When drain() has work that is due, CLOCK_MONOTONIC in ns; 0: nothing.
  uint64_t due() const;

  // The job as of now. `job` comes from the caller: argv, exit code and so on; the rest is added.
  SnapshotPtr look(const JobRun& job);
  // A cheap look: the living threads and their parts, and the ended ones as one sum.
  SnapshotPtr glance(const JobRun& job);
  // Meets the living: learns the names of processes that forked without an exec. Cheap; look() and
  // glance() do it too.
  void refresh();
  // Members that were alive at the last look.
  size_t living() const;
  // True when the end of this process's main thread has been told.
  bool told_end_of(uint32_t pid) const;
  // Threads of the job that have not ended, by the kernel side's count.
  int64_t unfinished() const;
  const std::vector<ProbeStatus>& probes() const;

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace jobscope
