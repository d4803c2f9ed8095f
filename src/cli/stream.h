// What commands that print as long as they run have in common: their end by a signal, and an output
// whose reader may be slow or gone.
#pragma once

#include <string>
#include <string_view>

#include "src/base/fd.h"
#include "src/base/result.h"

namespace jobscope {

// Holds back SIGINT, SIGTERM and SIGHUP, and keeps SIGPIPE from ending us. Before any thread.
class StopSignals {
 public:
  static Result<StopSignals> open();
  // Readable when one came; it stays so.
  int fd() const { return fd_.get(); }
  bool came() const;

 private:
  explicit StopSignals(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

// Standard output, written so that a reader who does not read holds up nobody but us, and a signal
// ends the wait.
class StreamWriter {
 public:
  StreamWriter(int fd, const StopSignals& stop) : fd_(fd), stop_(&stop) {}

  void add(std::string_view text) { text_ += text; }
  // Bytes that wait to be written.
  size_t waiting() const { return text_.size(); }
  // Writes all. Waits for the reader until a signal comes, and then half a second longer. True if
  // there may be more; false: the reader is gone, nothing can be written any more.
  Result<bool> flush();
  // Whether the reader has gone, seen without writing.
  bool reader_gone() const;

 private:
  int fd_;
  const StopSignals* stop_;
  std::string text_;
};

}  // namespace jobscope
