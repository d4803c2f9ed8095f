// Shows a trace until it ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/base/result.h"
#include "src/cli/stream.h"
#include "src/output/event_lines.h"
#include "src/trace/tracer.h"

namespace jobscope {

struct ShowOptions {
  bool json = false;
  bool relative = false;          // time since the start instead of the time of day
  std::optional<uint64_t> count;  // events to show
  uint64_t limit = 0;             // ns to watch; 0: none
  std::string job;                // that is waited for; "": none
};

// Of a tracer that has been started with `pending` as its sink's queue: see cmd_trace.cc. Lines go
// to standard output, what else there is to say to standard error. The result is the exit code.
class TraceShow {
 public:
  TraceShow(Tracer& tracer, const StopSignals& stop, ShowOptions options);
  // The tracer's sink.
  void take(EventLine line);
  Result<int> run();

 private:
  bool over() const;
  Result<bool> turn();
  void tell_losses(bool last);
  void look_at_processes();
  void say(const std::string& sentence) const;
  void close();

  Tracer* tracer_;
  const StopSignals* stop_;
  ShowOptions options_;
  StreamWriter out_;
  std::optional<EventLayout> layout_;
  uint64_t began_ = 0, unix_offset_ = 0, next_second_ = 0;
  uint64_t shown_ = 0;
  bool full_ = false, gone_ = false, met_ = false, living_ = false, none_left_ = false;
  std::map<std::string, uint64_t> lost_;
};

}  // namespace jobscope
