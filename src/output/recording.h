// A recording: one run in one SQLite file. The schema is in recording_schema.h, and described for
// people in docs/reports.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/base/fd.h"
#include "src/base/result.h"
#include "src/model/findings.h"
#include "src/model/snapshot.h"

namespace jobscope {

class Database;

// Writes the recording of one run.
//
// Each call is one transaction: it succeeds, or leaves the file as it was and says why; a later
// call may succeed again. A call may fail at any time (disk full, quota), and never blocks on a
// reader of the file. Nothing is synced: a power cut may lose the file, the end of this process
// does not. The caller ignores SIGXFSZ, or a file size limit ends the process.
class Recording {
 public:
  // Opens the file, which is new, empty or an earlier recording; anything else is left as it is,
  // with an Error. Only the first row replaces what is in it: of a run that never began nothing is
  // left. Until finish() the file says that its run did not end.
  static Result<Recording> create(const std::string& path);
  Recording(Recording&&) noexcept;
  Recording& operator=(Recording&&) noexcept;
  ~Recording();

  // Adds the job's total parts so far: cheap, however big the job.
  Result<> add_interval(const Snapshot& snapshot);
  // Adds the whole snapshot and ends the recording. Succeeds once.
  Result<> finish(const Snapshot& snapshot, const std::vector<Finding>& findings);

 private:
  Recording(std::string path, Fd file, bool is_new);
  Result<> begin();

  std::string path_;
  Fd file_;              // holds the lock by which another jobscope sees that the file is in use
  bool is_new_ = false;  // there was no such file
  std::unique_ptr<Database> database_;  // from the first row on
};

// The snapshot that finish() was given, equal in every field. The file need not be writable, nor
// its directory, and is not trusted: whatever it holds, the answer is a snapshot or an Error.
Result<Snapshot> read_recording(const std::string& path);

}  // namespace jobscope
