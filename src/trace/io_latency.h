// Latency of block I/O in rounds: how long the requests took that ended in each.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/jobs/job_finder.h"
#include "src/model/histogram.h"
#include "src/trace/filter.h"

namespace jobscope {

struct LatencyOptions {
  bool by_device = false, by_operation = false, by_comm = false, by_job = false;
  bool milliseconds = false;  // the slots of the histograms are of ms
  TraceFilter filter;
};

// What the histogram is of, as far as it was asked for; else empty.
struct LatencyRow {
  std::string device, operation, job, comm;
  Histogram latency;  // slots of µs or of ms; sum and max are in µs always
};

struct LatencyRound {
  std::vector<LatencyRow> rows;          // by device, operation, job, comm; none without I/O
  std::map<std::string, uint64_t> lost;  // in this round: see trace_losses()
};

class IoLatency {
 public:
  virtual ~IoLatency() = default;
  // Watches from now on. Requests that are under way already are not seen.
  static Result<std::unique_ptr<IoLatency>> start(const LatencyOptions& options, JobFinder& finder);
  // Readable when there is something to drain(): new processes to look at. -1: never.
  virtual int fd() const = 0;
  virtual void drain() = 0;
  // What ended since the round before: nothing is left out and nothing is in two.
  virtual Result<LatencyRound> next() = 0;
  // What does not work here; "" if all does.
  virtual std::string degraded() const = 0;
};

}  // namespace jobscope
