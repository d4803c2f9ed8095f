// A trace: events of one kind, as they happen.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/jobs/job_finder.h"
#include "src/model/event_line.h"
#include "src/trace/filter.h"

namespace jobscope {

struct TraceOptions {
  TraceFilter filter;
  uint64_t ring_bytes = 4 << 20;
};

class Tracer {
 public:
  using Sink = std::function<void(EventLine)>;
  virtual ~Tracer() = default;

  virtual std::vector<EventColumn> columns() const = 0;
  // Watches from now on. Once; the sink is called by drain().
  virtual Result<> start(Sink sink) = 0;
  // Readable when there are events.
  virtual int fd() const = 0;
  // Hands on those that are there.
  virtual void drain() = 0;
  // Once a second, and at the end: finds what nobody told.
  virtual void settle() {}
  // Lost so far, by what it is; see trace_losses().
  virtual std::map<std::string, uint64_t> lost() const = 0;
  // What does not work here; "" if all does.
  virtual std::string degraded() const { return {}; }
  // Processes that the filter lets pass, now; none without such a filter.
  virtual std::optional<size_t> living() const = 0;
  // Whether there was one so far.
  virtual bool met() const = 0;
  // What else is to be said at the end: whole sentences. `shown`: events so far.
  virtual std::vector<std::string> closing(uint64_t shown) const = 0;
};

// `finder` must live as long as the tracer.
std::unique_ptr<Tracer> block_tracer(const TraceOptions& options, JobFinder& finder);
std::unique_ptr<Tracer> process_tracer(const TraceOptions& options, JobFinder& finder);
std::unique_ptr<Tracer> signal_tracer(const TraceOptions& options, JobFinder& finder);
std::unique_ptr<Tracer> oom_tracer(const TraceOptions& options, JobFinder& finder);
// Waits of at least `over` ns.
std::unique_ptr<Tracer> wait_tracer(const TraceOptions& options, JobFinder& finder, uint64_t over);
// "block:block_rq_issue". `print`: what to print of an event; "": all fields.
Result<std::unique_ptr<Tracer>> tracepoint_tracer(const TraceOptions& options, JobFinder& finder,
                                                  const std::string& tracepoint,
                                                  const std::string& print);
// "uprobe:LIB:SYMBOL(size: u64)" or "uretprobe:…": see uprobe_spec.h.
Result<std::unique_ptr<Tracer>> uprobe_tracer(const TraceOptions& options, JobFinder& finder,
                                              const std::string& uprobe, const std::string& print);

}  // namespace jobscope
