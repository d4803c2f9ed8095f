// Starts the job's root process: as the caller, as if jobscope were not there.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "src/base/caller.h"
#include "src/base/fd.h"
#include "src/base/result.h"
#include "src/cli/signals.h"

namespace jobscope {

struct LaunchOptions {
  std::vector<std::string> argv;
  Caller caller;        // whom it runs as, and with which environment (and PATH)
  SignalState signals;  // as they were when jobscope started
};

// A process that waits, and becomes the job when it is released. Everything that shall see the job
// from its first instruction is set up in between.
//
// The job gets from us what we got: standard streams and other descriptors (our own are
// close-on-exec), limits, directory, umask, process group, session, scheduling, OOM score; of
// signals the mask and what was ignored; but no capability that is ours. So prepare() comes before
// we change limits or drop capabilities, and before there are threads.
// It never ends because we end: before release() it goes without running anything, after it lives
// on.
class Launch {
 public:
  static Result<Launch> prepare(const LaunchOptions& options);
  Launch(Launch&& other) noexcept;
  Launch& operator=(Launch&&) = delete;
  // A process that was not released is gone afterwards; a released one is left alone.
  ~Launch();

  pid_t pid() const { return pid_; }
  // Readable when the process has ended.
  int pidfd() const { return pidfd_.get(); }

  // Lets it become the job, and waits until it has (or was stopped on the way). Fails with
  // "CMD: No such file or directory" if it could not; the process is gone then.
  Result<> release();
  // Why the job did not start, with the exit code to end with: 127 if there is no such command, 126
  // if it can't be executed, 125 if the process could not become the caller. After a failed
  // release(), and to be asked when the process has ended: if it was stopped on its way, release()
  // could not know.
  struct Failure {
    Error error;
    int exit_code;
  };
  std::optional<Failure> failure();

 private:
  // What the child says over the socket if it fails.
  enum class Step : int { identity, capabilities, exec };
  struct Report {
    Step step;
    int code;
  };
  struct Plan;
  Launch() = default;
  [[noreturn]] static void become_job(Plan& plan, int socket);
  Failure failure_of(const Report& report) const;

  pid_t pid_ = -1;
  bool released_ = false;
  Fd pidfd_;
  Fd socket_;  // "go" to the child, a Report back; it closes when the child executes the command
  std::string command_;
  std::string user_;
  std::optional<Failure> failure_;
};

// The paths that `command` may mean, in order: itself if it has a slash, else in each folder of
// `path` (an empty one is the current folder).
std::vector<std::string> candidates(const std::string& command, std::string_view path);

// If standard input, output or error is closed, puts /dev/null there, so that no file of ours gets
// that number and text written to it. The job finds it closed, as it was. First thing in main().
Result<> hold_standard_descriptors();

}  // namespace jobscope
