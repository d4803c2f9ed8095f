#include "src/model/histogram.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace jobscope {

uint64_t Histogram::count() const {
  return std::accumulate(slots.begin(), slots.end(), uint64_t{0});
}

double Histogram::quantile(double q) const {
  const uint64_t total = count();
  if (total == 0) return 0;
  const double rank = q * static_cast<double>(total);
  double below = 0;
  for (size_t i = 0; i < kSlots; ++i) {
    const auto here = static_cast<double>(slots[i]);
    if (here > 0 && below + here >= rank) {
      const double low = i == 0 ? 0 : std::ldexp(1.0, static_cast<int>(i));
      const double high = std::ldexp(1.0, static_cast<int>(i) + 1);
      const double value = low + (high - low) * ((rank - below) / here);
      return std::min(value, static_cast<double>(max));
    }
    below += here;
  }
  return static_cast<double>(max);
}

void Histogram::merge(const Histogram& other) {
  for (size_t i = 0; i < kSlots; ++i) slots[i] += other.slots[i];
  max = std::max(max, other.max);
  sum += other.sum;
}

}  // namespace jobscope
