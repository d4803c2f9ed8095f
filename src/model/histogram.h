// A log2 histogram, as the BPF programs fill it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace jobscope {

// Slot 0 holds values of 0 and 1, slot i > 0 values in [2^i, 2^(i+1)); the last slot holds all
// that is larger. `max` and `sum` are exact, in the unit of the values (µs throughout).
struct Histogram {
  static constexpr size_t kSlots = 32;
  std::array<uint64_t, kSlots> slots{};
  uint64_t max = 0;
  uint64_t sum = 0;

  uint64_t count() const;
  // The value below which a share q (0..1) of all values lies: linear inside its slot, never above
  // `max`; 0 for an empty histogram. Its error is at most the width of that slot.
  double quantile(double q) const;
  void merge(const Histogram& other);
};

}  // namespace jobscope
