#include "src/programs/event_counter.h"

#include "src/bpf/log.h"

namespace jobscope {
namespace {

constexpr size_t kPages = 256;  // of each CPU's buffer: 1 MiB where a page has 4 KiB

}  // namespace

Result<std::unique_ptr<EventCounter>> EventCounter::open(int map, const CounterConfig& config,
                                                         const DecoderSources& sources,
                                                         SeriesLimits limits, uint64_t now) {
  if (config.labels.empty())
    return fail("it has no labels, so its events say nothing", "give 'labels' with their sizes");
  MapShape shape;
  for (const LabelConfig& label : config.labels)
    shape.key_size = std::max(shape.key_size, label.offset + label.size + label.padding);
  std::unique_ptr<EventCounter> counter(
      new EventCounter(TRY(Series::of_counter(config, shape, sources, limits))));
  counter->bytes_ = shape.key_size;
  counter->flush_interval_ = static_cast<uint64_t>(config.flush_interval.count());
  counter->next_flush_ = now + counter->flush_interval_;
  counter->series_.begin(now);
  BpfLog log;
  counter->buffer_.reset(perf_buffer__new(
      map, kPages,
      [](void* self, int, void* data, uint32_t size) {
        static_cast<EventCounter*>(self)->take({static_cast<const char*>(data), size});
      },
      [](void* self, int, unsigned long long lost) {
        static_cast<EventCounter*>(self)->lost_ += lost;
      },
      counter.get(), nullptr));
  if (!counter->buffer_) return log.failure("opening the buffers of events", errno);
  return counter;
}

// The kernel rounds an event up to 8 bytes, and more.
void EventCounter::take(std::string_view bytes) {
  const uint64_t one = 1;
  if (!series_.add(bytes.substr(0, bytes_), {&one, 1})) ++errors_;
}

void EventCounter::drain(uint64_t now) {
  if (now >= next_flush_) {
    series_.begin(now);
    next_flush_ = now + flush_interval_;
  }
  perf_buffer__consume(buffer_.get());
}

}  // namespace jobscope
