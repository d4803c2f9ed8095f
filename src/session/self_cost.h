// What jobscope itself costs.
#pragma once

#include <cstdint>
#include <optional>

#include "src/base/fd.h"
#include "src/model/snapshot.h"

namespace jobscope {

// The kernel counts the run time of BPF programs only while it is asked to, and its counting costs
// about as much as a small program. So it is asked in windows of kWindow out of every kPeriod (the
// first at once), and the sum is scaled to the whole time.
class BpfCost {
 public:
  static constexpr uint64_t kWindow = 100'000'000, kPeriod = 2'000'000'000;  // ns

  // Opens or closes a window if it is due. `now` is CLOCK_MONOTONIC, ns.
  void tick(uint64_t now);
  // Run time of all our programs so far, ns; empty if the kernel would not count.
  std::optional<uint64_t> estimate(uint64_t now) const;

 private:
  Fd window_;
  uint64_t started_ = 0, opened_ = 0, watched_ = 0;
};

// CPU time and memory of this process.
void measure_process(SelfCost& cost);

}  // namespace jobscope
