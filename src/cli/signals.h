// Signals and job control between jobscope, the job and the terminal; and how the job ended.
//
// The job stays in our process group and session, so Ctrl-C, Ctrl-\, Ctrl-Z, hang-up and window
// changes reach it from the terminal itself, and nothing needs to be passed on. We hold all such
// signals back and read them: none ends us while the job lives.
//  - From the kernel (the terminal): not passed on, the job has its own.
//  - From a process, to us alone (`kill PID`): passed on to the job.
//  - From a process, to our whole group or cgroup: not passed on, the job has its own. See
//    signal_witness.h. If the job has left our group it is passed on: twice is better than never.
//  - From the job itself: not passed on.
//  - The job was stopped by Ctrl-Z, or by reading the terminal in the background: we stop too, so
//    that the shell sees it; continued, we continue the job. SIGSTOP is meant for the job alone and
//    does not stop us, for whoever sent it will not know to continue us; unless the job has the
//    terminal for itself (a shell's `suspend`), or Ctrl-Z is pressed then.
#pragma once

#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/types.h>

#include <array>
#include <csignal>
#include <optional>

#include "src/base/caller.h"
#include "src/base/fd.h"
#include "src/base/result.h"
#include "src/cli/signal_witness.h"

namespace jobscope {

// The signal mask, and which signals are ignored: what exec hands down.
class SignalState {
 public:
  static SignalState now();
  // Makes them so again, all others default. Async-signal-safe.
  void restore() const;

 private:
  sigset_t mask_{};
  std::array<bool, NSIG> ignored_{};
};

// How a process ended.
struct ExitStatus {
  int code = 0;    // if signal is 0
  int signal = 0;  // that ended it
  bool core = false;
  rusage usage{};  // of the process and of the children it waited for
};
// As a shell has it: the code, or 128 + signal.
int exit_code_of(const ExitStatus& status);
// Ends jobscope as the job ended: with exit_code_of, and after SIGINT by that signal, so that a
// shell script or loop around us stops too; it sees the same 130. No destructor runs.
[[noreturn]] void end_as(const ExitStatus& status);

class JobSignals {
 public:
  enum class Action {
    none,
    reap,  // a child changed: call reap()
    quit,  // there is no job, and the person wants us to end
  };

  // Holds the signals back, from this thread and those it starts later, and keeps SIGPIPE and
  // SIGXFSZ from ending us. Comes after SignalState::now() and before Launch::prepare() and any
  // thread. `caller`: for the witness.
  static Result<JobSignals> block_and_open(const Identity& caller);

  // Readable when there is a signal.
  int fd() const { return fd_.get(); }
  // The next signal, if there is one.
  std::optional<signalfd_siginfo> read();
  // Does with it what is said above. May take a tenth of a second. `job`: its pid; 0 if there is
  // none (any more): then Ctrl-Z stops us, and SIGINT, SIGTERM, SIGHUP, SIGQUIT mean quit.
  Action handle(const signalfd_siginfo& info, pid_t job);
  // How the job ended, if it did; it is gone then. Follows it into a stop, and returns only when
  // both are continued. As init of a container it also reaps the orphans that came to us.
  std::optional<ExitStatus> reap(pid_t job);
  // When nothing is left to protect: SIGINT, SIGTERM, SIGHUP and SIGQUIT end us again.
  static void let_go();

 private:
  explicit JobSignals(Fd fd) : fd_(std::move(fd)) {}
  bool job_has_it(const signalfd_siginfo& info, pid_t job);

  Fd fd_;
  SignalWitness witness_;
};

}  // namespace jobscope
