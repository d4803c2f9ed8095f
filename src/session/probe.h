// The contract of a probe: one source of figures.
//
// How to add one: a folder probes/NAME with NAME.cc that defines
//   extern const ProbeInfo NAME_probe{"NAME", "what it tells", make};
// and, if it has a kernel side, NAME.bpf.c. Nothing else is edited (docs/adding_a_probe.md).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "bpf/thread.h"
#include "src/base/result.h"
#include "src/bpf/shared_maps.h"
#include "src/model/snapshot.h"
#include "src/session/knowledge.h"

namespace jobscope {

// A thread as the kernel side describes it: while it lives at each look, and once when it ended.
struct ThreadRecord {
  const thread& head;
  std::span<const uint64_t> cores;
  bool ended = false;
};

// start() → (on_event() | on_thread())* → collect() → … → destructor, all on one thread. A probe
// that fails to start is left out and its error shown: the session lives with any subset.
class Probe {
 public:
  Probe() = default;
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  virtual ~Probe() = default;

  // Loads and attaches. Other probes' shared maps are in `maps`, already loaded ones first.
  virtual Result<> start(SharedMaps& maps) = 0;
  // Why it works only in part; "" when it is whole. Asked after start().
  virtual std::string degraded() const { return {}; }
  // One record of the ring, in the order of events.
  virtual void on_event(const event&) {}
  // Some times a second: the moment to empty a map before it fills.
  virtual void on_drain(const globals&) {}
  // A look begins: what was told of living threads is void.
  virtual void begin_look() {}
  // Every look first tells all living threads, then those that ended since.
  virtual void on_thread(const ThreadRecord&) {}
  // Adds what it knows to the snapshot. Counters are cumulative.
  virtual Result<> collect(const Knowledge&, Snapshot&) = 0;
  // The same for a look that has to be cheap: only what a row of a recording needs.
  virtual void glance(const Knowledge&, Snapshot&) {}
  // Its BPF object, for what the kernel keeps of it (memory, runs it left out); nullptr: none.
  virtual const bpf_object* object() const { return nullptr; }
};

struct ProbeInfo {
  const char* name;
  const char* help;
  std::unique_ptr<Probe> (*make)();
};

// All probes that the build found, sorted by name.
std::span<const ProbeInfo* const> probe_table();

}  // namespace jobscope
