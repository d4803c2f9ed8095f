// Watching a job until it ends, and telling what was seen: what `run` and `attach` share.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/caller.h"
#include "src/base/cgroups.h"
#include "src/base/output_file.h"
#include "src/base/result.h"
#include "src/model/findings.h"
#include "src/output/recording.h"
#include "src/session/session.h"

namespace jobscope {

struct WatchOptions {
  std::string name;                      // "" = found out
  std::optional<std::string> report;     // file; none: standard error
  std::optional<std::string> json;       // file
  std::optional<std::string> recording;  // file
  std::optional<std::string> limit;      // --for
  std::string interval = "1s";
  bool progress = false;
};
void declare(CLI::App& app, WatchOptions& options);

struct WatchTimes {
  uint64_t limit = 0;  // ns; 0: none
  uint64_t interval = 0;
};
// Asked first, so that a wrong option leaves nothing half done.
Result<WatchTimes> times_of(const WatchOptions& options);

// Where the results go. Opened before the job starts, so that a wrong path is known then. A full
// disk is no reason not to start it: it is told at the end.
class Results {
 public:
  static Result<Results> open(const WatchOptions& options, const Identity& owner);

  bool wants_intervals() const { return recording_.has_value(); }
  // One row of the recording. A failure is kept and told at the end: the job comes first.
  void interval(const Snapshot& snapshot);
  // Writes the files. False if one of them could not be written.
  bool save(const Snapshot& snapshot);
  // After that: the report, unless it went to a file, and a line for each failure, on standard
  // error. May wait for whoever reads it.
  void tell(const Snapshot& snapshot);

 private:
  void finish_recording(const Snapshot& snapshot, const std::vector<Finding>& findings);
  explicit Results(const Identity& owner) : owner_(owner) {}

  Identity owner_;
  std::optional<OutputFile> report_, json_;
  std::optional<Recording> recording_;
  std::optional<Error> recording_error_;
  std::vector<Error> errors_;
};

// The loop between start and end of a watch. One second's work is: looking for new processes,
// reading the cgroup, a row of the recording, the progress line.
class Watch {
 public:
  Watch(Session& session, Results& results, const WatchTimes& times, bool progress);

  // Descriptors that end a wait in step().
  void also_wait_for(int fd) { fds_.push_back(fd); }
  // Before the first step: the job begins now. `member`: a process of it, whose CPUs and cgroup are
  // taken for the job's.
  void begin(JobRun job, uint32_t member);
  // Waits for at most a tick, drains, does what is due. `every_second` runs with it.
  void step(const std::function<void()>& every_second);
  // True when --for is over.
  bool over() const;
  JobRun& job() { return job_; }
  // The last look, and what it gives.
  SnapshotPtr end();

 private:
  static void note_end(Snapshot& snapshot);
  void look_at_cgroup();
  void show_progress(const Snapshot& snapshot);

  Session* session_;
  Results* results_;
  JobRun job_;
  uint32_t member_ = 0;
  std::vector<int> fds_;
  WatchTimes times_;
  uint64_t next_interval_ = 0, next_second_ = 0;
  int refresh_in_ = 1;
  bool progress_ = false, progress_shown_ = false;
  std::optional<CgroupPlace> place_;
  CgroupLedger cgroup_at_start_, cgroup_;
  Nanoseconds last_cpu_ = 0, last_at_ = 0;
};

}  // namespace jobscope
