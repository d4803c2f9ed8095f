// Who belongs to the job, and what the kernel side keeps of each thread.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "bpf/thread.h"
#include "src/base/result.h"
#include "src/bpf/shared_maps.h"
#include "src/session/probe.h"

namespace jobscope {

// Loads the programs that hand membership from parent to child, and walks the living.
class Members {
 public:
  // Creates the shared maps `threads`, `events` and what goes with them.
  static Result<std::unique_ptr<Members>> open(SharedMaps& maps, uint32_t cpus);
  ~Members();

  // Processes whose threads become members at the next walk, if they are not yet.
  Result<> adopt(std::span<const uint32_t> pids, uint32_t job);
  // Forgets whom to adopt: their children are members by birth, and pids are used again.
  void adopted_all();
  // A process that becomes a member at its next exec.
  Result<> adopt_at_exec(uint32_t pid, uint32_t job);
  struct Walk {
    uint32_t adopted = 0;
    uint32_t torn = 0;  // threads of which no whole copy could be had
  };
  // Calls f once for each living member that has run, adopting those that should be members.
  Result<Walk> walk(const std::function<void(const ThreadRecord&)>& f);
  const bpf_object* object() const;
  // CLOCK_MONOTONIC - scheduler's clock, ns.
  uint64_t clock_offset() const;

 private:
  struct Impl;
  explicit Members(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A thread record out of bytes as they come from the ring or the iterator; the bytes outlive it.
ThreadRecord thread_record(const void* bytes, uint32_t cpus, bool ended);
// Bytes of a record with the times of so many CPUs.
size_t thread_record_size(uint32_t cpus);
// start + sum(parts) == since: false for a copy taken in the middle of an update.
bool consistent(const thread& t);

}  // namespace jobscope
