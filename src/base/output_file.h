// Files that a person asked us to write, written as that person.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "src/base/caller.h"
#include "src/base/fd.h"
#include "src/base/result.h"

namespace jobscope {

// While it lives, the calling thread opens, creates, renames and removes files as `who` might:
// under sudo, files belong to the caller, and no symlink leads us where the caller may not write;
// with file capabilities, CAP_DAC_READ_SEARCH opens no door. Signals and the rights of other
// threads stay as they are. One at a time per thread; taken and released on the same thread. As
// root without CAP_SETUID and CAP_SETGID it fails, unless become() made us the caller already.
// Anything that opens files itself, like SQLite, is called under it, from the first call to the
// last.
class ActingAs {
 public:
  static Result<ActingAs> take(const Identity& who);
  ActingAs(ActingAs&& other) noexcept;
  ActingAs& operator=(ActingAs&&) = delete;
  ~ActingAs();

 private:
  ActingAs() = default;
  bool switched_ = false;      // to other ids
  std::vector<gid_t> groups_;  // to go back to
  uid_t uid_ = 0;
  gid_t gid_ = 0;
  std::vector<Capability> lowered_;
};

// Writes all of it, waiting where a descriptor that does not block would take no more. 0, or the
// errno of what went wrong.
int write_all(int fd, std::string_view bytes);

// Writes one file at `path` on behalf of `owner`.
//
// A regular file is written beside its place and put there by commit(), whole or not at all; until
// then a file of that name stays as it was. What cannot be replaced is written in place: "-"
// (standard output), /dev/stdout, /dev/fd/N, devices, FIFOs, files with several names or of another
// owner, files that are mount points, and files in a directory that is not writable. Errors read
// "cannot write PATH: why".
class OutputFile {
 public:
  // Opens it, so that a wrong path is known before there is anything to write. A FIFO that nobody
  // reads is an error; nothing here waits.
  static Result<OutputFile> create(const std::string& path, const Identity& owner);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  // Without commit() the file is as before, if it was to be replaced.
  ~OutputFile();

  // Writes all of it, waiting for a slow reader of a pipe. After a failure commit() fails too.
  Result<> write(std::string_view bytes);
  // Once, at the end. Reports what only shows when a file is closed (quota, network file systems).
  Result<> commit();

  // For isatty(): the file being written.
  int fd() const { return fd_.get(); }

 private:
  OutputFile(std::string path, const Identity& owner) : path_(std::move(path)), owner_(owner) {}
  Result<> open();
  Result<> open_existing(const std::string& target);
  Result<> open_beside(const std::string& target, const struct stat* like);
  tl::unexpected<Error> error(int code) const;

  std::string path_;  // as the person gave it
  Identity owner_;
  Fd fd_;
  std::string target_;     // where commit() puts the file; empty: written in place
  std::string temporary_;  // and where it is until then
  bool truncate_ = false;  // in place: before the first byte
  int failed_ = 0;         // errno of the first failed write
};

}  // namespace jobscope
