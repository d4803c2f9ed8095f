// A counter of events that a program sends through a BPF_MAP_TYPE_PERF_EVENT_ARRAY.
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "src/base/result.h"
#include "src/programs/series.h"

namespace jobscope {

// Each event's leading bytes are its labels. All counts go back to nothing every flush_interval, as
// in ebpf_exporter. Not for use from several threads at once.
class EventCounter {
 public:
  // `map` outlives it. `now`: CLOCK_MONOTONIC, ns.
  static Result<std::unique_ptr<EventCounter>> open(int map, const CounterConfig& config,
                                                    const DecoderSources& sources,
                                                    SeriesLimits limits, uint64_t now);

  // Readable when there are events.
  int fd() const { return perf_buffer__epoll_fd(buffer_.get()); }
  // Counts what has come.
  void drain(uint64_t now);
  MetricFamily family() { return series_.family(); }

  uint64_t lost() const { return lost_; }      // events that the kernel had no room for
  uint64_t errors() const { return errors_; }  // events that could not be decoded
  uint64_t dropped_rows() const { return series_.dropped_rows(); }

 private:
  struct FreeBuffer {
    void operator()(perf_buffer* buffer) const { perf_buffer__free(buffer); }
  };
  explicit EventCounter(Series series) : series_(std::move(series)) {}
  void take(std::string_view bytes);

  Series series_;
  uint32_t bytes_ = 0;                            // of the labels
  uint64_t flush_interval_ = 0, next_flush_ = 0;  // ns
  uint64_t lost_ = 0, errors_ = 0;
  std::unique_ptr<perf_buffer, FreeBuffer> buffer_;  // its callbacks know `this`: last
};

}  // namespace jobscope
