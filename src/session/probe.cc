#include "src/session/probe.h"

namespace jobscope {

#define PROBE(name) extern const ProbeInfo name##_probe;
#include "probe_table.inc"
#undef PROBE

std::span<const ProbeInfo* const> probe_table() {
  static constexpr const ProbeInfo* kTable[] = {
#define PROBE(name) &name##_probe,
#include "probe_table.inc"
#undef PROBE
  };
  return kTable;
}

}  // namespace jobscope
