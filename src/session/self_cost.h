// What jobscope itself costs.
#pragma once

#include <cstdint>
#include <optional>

#include "src/bpf/shared_maps.h"
#include "src/model/snapshot.h"

namespace jobscope {

// Run time so far of our BPF programs on hot paths, ns: each times one run in COST_EVERY, less what
// reading the clock costs. Empty before the first timed run. (The kernel's own count, BPF_STATS,
// needs CAP_SYS_ADMIN and costs more than most of the programs.)
std::optional<uint64_t> bpf_run_time(const SharedMaps& maps, uint32_t cpus);

// CPU time and peak memory of this process.
void measure_process(SelfCost& cost);

}  // namespace jobscope
