#include "src/trace/object.h"

#include <unistd.h>

#include <array>
#include <bit>

#include "bpf/thread.h"
#include "src/bpf/map.h"

namespace jobscope {
namespace {

// Of the session's: nothing here uses them.
constexpr std::array kUnused = {"threads", "session_globals", "costs", "waits", "waits_now"};

constexpr std::array<const char*, LOSSES> kLossNames = {
    "thread records", "events", "processes", "waits", "wakers", "files", "block requests", "peers"};

}  // namespace

void prepare_trace_object(bpf_object* object, uint64_t ring_bytes) {
  for (const char* name : kUnused)
    if (bpf_map* map = bpf_object__find_map_by_name(object, name))
      bpf_map__set_autocreate(map, false);
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "events"),
                           static_cast<uint32_t>(std::bit_ceil(std::max(ring_bytes, page))));
}

Result<std::unique_ptr<TraceRing>> TraceRing::open(const bpf_object* object, Take take) {
  std::unique_ptr<TraceRing> ring(new TraceRing(std::move(take)));
  BpfLog log;
  ring->ring_.reset(ring_buffer__new(
      bpf_object__find_map_fd_by_name(object, "events"),
      [](void* self, void* data, size_t size) {
        static_cast<TraceRing*>(self)->take_(data, size);
        return 0;
      },
      ring.get(), nullptr));
  if (!ring->ring_) return log.failure("opening the ring of events", errno);
  return ring;
}

int TraceRing::fd() const { return ring_buffer__epoll_fd(ring_.get()); }

void TraceRing::drain() { ring_buffer__consume(ring_.get()); }

std::map<std::string, uint64_t> trace_losses(const bpf_object* object) {
  std::map<std::string, uint64_t> lost;
  const auto cpus = static_cast<uint32_t>(libbpf_num_possible_cpus());
  const int map = bpf_object__find_map_fd_by_name(object, "losses");
  for (uint32_t i = 0; i < LOSSES; ++i)
    for (const uint64_t count : per_cpu<uint64_t>(map, i, cpus))
      if (count) lost[kLossNames[i]] += count;
  std::map<std::string, uint64_t> missed;
  add_missed_runs(object, missed);
  for (const auto& [program, count] : missed) lost["runs of BPF programs"] += count;
  return lost;
}

}  // namespace jobscope
