#include "src/programs/span_source.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <charconv>

#include "src/bpf/log.h"

namespace jobscope {
namespace {

// Records taken in one go. libbpf goes on as long as there are more, which may be for ever.
constexpr size_t kMostAtOnce = 8192;

template <size_t N>
Result<> read_id(const std::string& name, std::string_view text, std::array<uint8_t, N>& id) {
  bool good = text.size() == 2 * N;
  for (size_t i = 0; good && i < N; ++i) {
    const char* from = text.data() + 2 * i;
    const auto [end, error] = std::from_chars(from, from + 2, id[i], 16);
    good = error == std::errc() && end == from + 2;
  }
  if (!good)
    return fail(fmt::format("'{}' is '{}', it must be {} hexadecimal digits", name, text, 2 * N));
  return {};
}

template <size_t N>
void choose_if_zero(std::array<uint8_t, N>& id) {
  if (std::all_of(id.begin(), id.end(), [](uint8_t byte) { return byte == 0; }))
    (void)::getrandom(id.data(), id.size(), 0);
}

Result<uint64_t> number(const std::string& name, std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return fail(
        fmt::format("'{}' is '{}', it must be a number: its decoder is 'uint'", name, text));
  return value;
}

}  // namespace

Result<Span> make_span(const SpanConfig& config, const std::string& program,
                       const std::vector<std::string>& names, std::vector<std::string> values,
                       const ClockOffset& clocks) {
  Span span;
  span.name = config.name;
  span.start_unix_ns = clocks.unix_ns;
  uint64_t duration = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string& name = names[i];
    if (name == "trace_id")
      TRY(read_id(name, values[i], span.trace_id));
    else if (name == "span_id")
      TRY(read_id(name, values[i], span.span_id));
    else if (name == "parent_span_id")
      TRY(read_id(name, values[i], span.parent_span_id));
    else if (name == "span_monotonic_timestamp_ns")
      span.start_unix_ns = clocks.unix_ns - clocks.monotonic_ns + TRY(number(name, values[i]));
    else if (name == "span_duration_ns")
      duration = TRY(number(name, values[i]));
    else if (name == "span_name")
      span.name = std::move(values[i]);
    else
      span.attributes.emplace_back(name, std::move(values[i]));
  }
  span.end_unix_ns = span.start_unix_ns + duration;
  choose_if_zero(span.trace_id);
  choose_if_zero(span.span_id);
  span.attributes.emplace_back("ebpf_exporter.config", program);
  return span;
}

SpanSource::SpanSource(std::string program, SpanConfig config, KeyDecoder decoder, Send send)
    : program_(std::move(program)),
      config_(std::move(config)),
      decoder_(std::move(decoder)),
      send_(std::move(send)) {}

Result<std::unique_ptr<SpanSource>> SpanSource::open(int map, const std::string& program,
                                                     const SpanConfig& config,
                                                     const DecoderSources& sources, Send send) {
  uint32_t bytes = 0;
  for (const LabelConfig& label : config.labels)
    bytes = std::max(bytes, label.offset + label.size + label.padding);
  std::unique_ptr<SpanSource> source(new SpanSource(
      program, config, TRY(KeyDecoder::make(config.labels, bytes, sources)), std::move(send)));
  BpfLog log;
  source->ring_.reset(ring_buffer__new(
      map,
      [](void* self, void* data, size_t size) {
        auto* source = static_cast<SpanSource*>(self);
        source->take({static_cast<const char*>(data), size});
        return ++source->drained_ < kMostAtOnce ? 0 : -EAGAIN;
      },
      source.get(), nullptr));
  if (!source->ring_) return log.failure("reading the ring buffer", errno);
  return source;
}

void SpanSource::take(std::string_view record) {
  auto values = decoder_.decode(record.substr(0, decoder_.size()));
  if (values && !*values) return;  // a regexp that did not match
  auto span = values ? make_span(config_, program_, decoder_.names(), std::move(**values), clocks_)
                     : tl::unexpected(values.error());
  if (!span) {
    ++errors_;
    return;
  }
  ++sent_;
  send_(config_.service, std::move(*span));
}

void SpanSource::drain(const ClockOffset& clocks) {
  clocks_ = clocks;
  drained_ = 0;
  ring_buffer__consume(ring_.get());
}

}  // namespace jobscope
