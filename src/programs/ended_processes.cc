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

const EndedProcesses::Known& EndedProcesses::look(uint32_t pid) {
  Known& known = known_[pid];
  if (known.reading != reading_) {
    known.reading = reading_;
    if (is_there_(pid))
      known.gone_since = 0;
    else if (known.gone_since == 0)
      known.gone_since = now_;
  }
  return known;
}

bool EndedProcesses::is_gone(uint32_t pid) { return look(pid).gone_since != 0; }

bool EndedProcesses::is_long_gone(uint32_t pid) {
  const uint64_t since = look(pid).gone_since;
  return since != 0 && now_ - since >= kKept;
}

}  // namespace jobscope
