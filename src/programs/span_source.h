// Spans that a program sends through a ring buffer.
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/model/span.h"
#include "src/programs/config.h"
#include "src/programs/decoder.h"

namespace jobscope {

// What the clocks say, to tell the time of day of a kernel's timestamp.
struct ClockOffset {
  uint64_t unix_ns = 0, monotonic_ns = 0;  // CLOCK_REALTIME and CLOCK_MONOTONIC, at one moment
};

// A span of decoded labels. Those called trace_id, span_id, parent_span_id (hexadecimal; all zeros
// or missing: made by chance, or no parent), span_monotonic_timestamp_ns, span_duration_ns and
// span_name are what they say, the others become attributes. An error: an id or a number that is
// none.
Result<Span> make_span(const SpanConfig& config, const std::string& program,
                       const std::vector<std::string>& names, std::vector<std::string> values,
                       const ClockOffset& clocks);

// Not for use from several threads at once.
class SpanSource {
 public:
  using Send = std::function<void(const std::string& service, Span span)>;
  // `map`, a ring buffer, and `sources` outlive it. `program`: the configuration's name. The labels
  // of `config` are laid out.
  static Result<std::unique_ptr<SpanSource>> open(int map, const std::string& program,
                                                  const SpanConfig& config,
                                                  const DecoderSources& sources, Send send);

  // Readable when there are records.
  int fd() const { return ring_buffer__epoll_fd(ring_.get()); }
  // Sends what has come.
  void drain(const ClockOffset& clocks);

  const std::string& name() const { return config_.name; }
  uint64_t sent() const { return sent_; }
  uint64_t errors() const { return errors_; }  // records that could not be decoded

 private:
  struct FreeRing {
    void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
  };
  SpanSource(std::string program, SpanConfig config, KeyDecoder decoder, Send send);
  void take(std::string_view record);

  const std::string program_;
  const SpanConfig config_;
  const KeyDecoder decoder_;
  const Send send_;
  ClockOffset clocks_;
  size_t drained_ = 0;  // by drain() under way
  uint64_t sent_ = 0, errors_ = 0;
  std::unique_ptr<ring_buffer, FreeRing> ring_;  // its callback knows `this`: last
};

}  // namespace jobscope
