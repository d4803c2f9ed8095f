// Sends spans to an OpenTelemetry collector, on a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "src/base/result.h"
#include "src/http/log_limit.h"
#include "src/http/tls_context.h"
#include "src/model/metric.h"
#include "src/model/span.h"
#include "src/otlp/config.h"

namespace jobscope {

// Of spans, where nothing else is said. queued + exported + all that is dropped = taken.
struct OtlpCounters {
  uint64_t taken = 0;             // by send(), dropped ones too
  uint64_t queued = 0;            // now, with those that are being sent
  uint64_t exported = 0;          // the collector has them
  uint64_t dropped_full = 0;      // the queue was full
  uint64_t dropped_failed = 0;    // refused, or not taken in time
  uint64_t dropped_rejected = 0;  // the collector took the request and not these
  uint64_t requests = 0;          // HTTP requests
  uint64_t retries = 0;           // of them
};

std::vector<MetricFamily> otlp_metrics(const OtlpCounters& counters);

class OtlpExporter {
 public:
  using Log = std::function<void(std::string)>;

  // Fails if the files for TLS cannot be used. `config` is enabled.
  static Result<std::unique_ptr<OtlpExporter>> start(OtlpConfig config, Log log);
  // As stop() with no time.
  ~OtlpExporter();

  // From any thread; never waits for the network. False: the queue is full, the span is dropped.
  // `service`: "" is the configuration's.
  bool send(std::string service, Span span);
  // Tries for so long to send what is queued, and drops the rest; a request under way is ended
  // then. Once.
  void stop(std::chrono::milliseconds flush);
  OtlpCounters counters() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Item = std::pair<std::string, Span>;
  OtlpExporter(OtlpConfig config, Log log);
  void work();
  std::vector<ResourceSpans> group(std::vector<Item> batch) const;
  // Sends a batch, with retries; how many spans were rejected, or an error.
  Result<uint64_t> export_batch(std::vector<Item> batch);
  // False: stopped meanwhile and no time is left.
  bool pause(std::chrono::milliseconds time);
  std::chrono::milliseconds left(Clock::time_point deadline) const;

  const OtlpConfig config_;
  LogLimit log_;
  TlsContext tls_;
  std::minstd_rand random_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  OtlpCounters counters_;
  bool stopping_ = false;
  Clock::time_point stop_at_ = Clock::time_point::max();
  std::thread thread_;
};

}  // namespace jobscope
