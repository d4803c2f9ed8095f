#include "src/programs/ended_processes.h"

namespace jobscope {
namespace {

constexpr uint64_t kKept = 300'000'000'000;  // ns after the end

}  // namespace

void EndedProcesses::begin(uint64_t now) {
  std::erase_if(known_, [this](const auto& each) { return each.second.reading != reading_; });
  ++reading_;
  now_ = now;
}

bool EndedProcesses::is_long_gone(uint32_t pid) {
  Known& known = known_[pid];
  if (known.reading != reading_) {
    known.reading = reading_;
    if (is_there_(pid))
      known.gone_since = 0;
    else if (known.gone_since == 0)
      known.gone_since = now_;
  }
  return known.gone_since != 0 && now_ - known.gone_since >= kKept;
}

}  // namespace jobscope
