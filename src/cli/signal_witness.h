// Tells a signal that was sent to this process alone from one sent to all around it.
#pragma once

#include <sys/signalfd.h>
#include <sys/types.h>

#include <vector>

#include "src/base/caller.h"
#include "src/base/fd.h"
#include "src/base/result.h"

namespace jobscope {

// A small process beside us in the same process group and cgroup, which does nothing but note the
// signals it gets.
//
// `kill -TERM -PGRP`, a shell's `kill %1`, sudo's monitor, systemd and Slurm signal a whole group
// or cgroup: the job has got the signal then, and passing ours on would be its second, which many
// training scripts take for "stop at once, save nothing". `kill -TERM PID` of jobscope is for us to
// pass on. The kernel describes both alike; whether the witness got it too is the difference.
class SignalWitness {
 public:
  // Forks; the witness has the identity of `caller`, so that all who may signal the job may signal
  // it, no capabilities and no descriptors of ours. It ends with us.
  static Result<SignalWitness> start(const Identity& caller);
  SignalWitness() = default;  // one that never saw anything
  SignalWitness(SignalWitness&& other) noexcept;
  SignalWitness& operator=(SignalWitness&& other) noexcept;
  ~SignalWitness();

  // True if the witness got this signal from the same process as we did, just now. Waits for it a
  // moment (a tenth of a second), for the sender goes from one process to the next.
  bool saw(const signalfd_siginfo& info);

  pid_t pid() const { return pid_; }  // -1: there is none

 private:
  struct Note {
    uint32_t signal = 0;
    uint32_t sender = 0;
    int32_t code = 0;
    uint64_t at = 0;  // CLOCK_MONOTONIC, ns
  };
  [[noreturn]] static void watch(int socket, const Identity& caller);
  bool noted(const signalfd_siginfo& info);

  pid_t pid_ = -1;
  Fd socket_;
  std::vector<Note> notes_;
};

}  // namespace jobscope
