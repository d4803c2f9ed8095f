#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>
#include <utility>

#include "src/output/recording.h"
#include "src/output/recording_header.h"
#include "src/output/recording_insert.h"
#include "src/output/recording_schema.h"
#include "src/output/recording_sqlite.h"

#ifndef JOBSCOPE_VERSION
#define JOBSCOPE_VERSION "unknown"
#endif

namespace jobscope {
namespace {

// All of `write`, or nothing.
template <class F>
Result<> transaction(Database& database, F write) {
  TRY(database.run("BEGIN"));
  Result<> done = write();
  if (done) done = database.run("COMMIT");
  // After some errors SQLite has rolled back by itself; then this one fails, and may.
  if (!done) (void)database.run("ROLLBACK");
  return done;
}

// Opens the file, unless it holds what is not ours to replace.
Result<Fd> open_for_writing(const std::string& path) {
  const std::string action = "cannot write " + path;
  struct stat status {};
  // Before open(): opening a device or a FIFO can do things, and block.
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    return fail(action + ": it is not a regular file",
                "a recording is a database; name a file that is not there yet");
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666));
  if (!file) {
    const int code = errno;
    return fail_errno(action, code,
                      code == ENOENT   ? "make its directory first"
                      : code == EACCES ? "name a file in a directory that you may write to"
                                       : "");
  }
  // Where locks do not exist, the file is used without.
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return fail(action + ": another jobscope is using it", "name another file");
  if (::fstat(file.get(), &status) != 0) return fail_errno(action);
  if (status.st_size > 0) {
    const RecordingHeader header = TRY(read_recording_header(file.get(), action));
    if (!header.ours)
      return fail(action + ": it is not a recording of jobscope, so it is not overwritten",
                  "name another file, or remove this one first");
  }
  return file;
}

Result<std::unique_ptr<Database>> create_database(const std::string& path) {
  // A path that SQLite takes for nothing else, such as ":memory:" or "file:x?mode=ro".
  const std::string name = path.starts_with('/') ? path : "./" + path;
  // unix-none: SQLite's locks are not needed, and a reader of the file could make us wait.
  const std::string action = "cannot write " + path;
  TRY(check_path_length(path, action));
  auto database = std::make_unique<Database>(
      TRY(Database::open(name, SQLITE_OPEN_READWRITE, "unix-none", action)));
  // The journal in memory: a failed transaction is undone, and no file lies beside the recording.
  TRY(
      database->run("PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF;"
                    "PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0; PRAGMA foreign_keys=OFF"));
  TRY(transaction(*database, [&]() -> Result<> {
    TRY(database->run("PRAGMA application_id=" + std::to_string(kRecordingApplicationId) +
                      "; PRAGMA user_version=" + std::to_string(kRecordingVersion)));
    TRY(database->run(kRecordingTables));
    TRY(database->run(kRecordingViews));
    Statement insert = TRY(database->prepare("INSERT INTO recording VALUES(?, 0)"));
    insert.bind(std::string_view(JOBSCOPE_VERSION));
    return insert.run();
  }));
  return database;
}

// What only the file system knows: a network file system reports a full disk or quota when a
// descriptor is closed, and a file that was removed takes writes as if nothing were wrong.
Result<> check_written(int file, const std::string& action) {
  const int copy = ::dup(file);
  if (copy >= 0 && ::close(copy) != 0) return fail_errno(action);
  struct stat status {};
  if (::fstat(file, &status) == 0 && status.st_nlink == 0)
    return fail(action + ": the file was removed while the job ran");
  return {};
}

}  // namespace

Recording::Recording(std::string path, Fd file, bool is_new)
    : path_(std::move(path)), file_(std::move(file)), is_new_(is_new) {}
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&&) noexcept = default;

Recording::~Recording() {
  struct stat ours {
  }, there{};
  if (!is_new_ || database_ || !file_ || ::fstat(file_.get(), &ours) != 0) return;
  if (::lstat(path_.c_str(), &there) == 0 && there.st_ino == ours.st_ino &&
      there.st_dev == ours.st_dev)
    ::unlink(path_.c_str());
}

Result<Recording> Recording::create(const std::string& path) {
  if (path.empty()) return fail("cannot write a recording: the file name is empty");
  struct stat status {};
  const bool is_new = ::lstat(path.c_str(), &status) != 0;
  Recording recording(path, TRY(open_for_writing(path)), is_new);
  TRY(check_path_length(path, "cannot write " + path));  // that of the file, which is there now
  return recording;
}

Result<> Recording::begin() {
  if (database_) return {};
  TRY(check_written(file_.get(), "cannot write " + path_));
  if (::ftruncate(file_.get(), 0) != 0) return fail_errno("cannot write " + path_);
  database_ = TRY(create_database(path_));
  return {};
}

Result<> Recording::add_interval(const Snapshot& snapshot) {
  TRY(begin());
  return transaction(*database_, [&] { return insert_interval(*database_, snapshot); });
}

Result<> Recording::finish(const Snapshot& snapshot, const std::vector<Finding>& findings) {
  TRY(begin());
  TRY(transaction(*database_, [&]() -> Result<> {
    TRY(insert_interval(*database_, snapshot));
    TRY(insert_snapshot(*database_, snapshot));
    TRY(insert_findings(*database_, findings));
    return database_->run("UPDATE recording SET finished = 1");
  }));
  TRY(check_written(file_.get(), "cannot write " + path_));
  file_.reset();  // whoever wants to read or replace it may now
  return {};
}

}  // namespace jobscope
