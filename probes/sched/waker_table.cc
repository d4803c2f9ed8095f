#include "probes/sched/waker_table.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace jobscope {
namespace {

constexpr uint64_t kTakeOut = 1500;  // of the map's room for 4096
constexpr size_t kMaxKept = 16384;

}  // namespace

bool WakerTable::Less::operator()(const waker_key& a, const waker_key& b) const {
  const auto order = [](const waker_key& k) {
    return std::tie(k.process, k.pid, k.reason, k.waker_pid, k.tid);
  };
  return order(a) < order(b);
}

void WakerTable::add(Uses& uses, const waker_key& key, const waker_use& use) {
  auto [found, is_new] = uses.try_emplace(key, use);
  if (is_new) return;
  found->second.ns += use.ns;
  found->second.count += use.count;
}

// Beyond the room for them, the threads of one process are one.
void WakerTable::add(const waker_key& key, const waker_use& use) {
  if (kept_.size() < kMaxKept || kept_.contains(key)) {
    add(kept_, key, use);
    return;
  }
  waker_key process = key;
  process.tid = process.waker_pid;
  add(kept_, process, use);
}

void WakerTable::make_room(uint64_t entries) {
  map_.make_room<waker_key, waker_use>(
      entries, kTakeOut, [this](const waker_key& key, const waker_use& use) { add(key, use); });
}

std::vector<WakerUse> WakerTable::rows() const {
  Uses all = kept_;
  if (map_.fd() >= 0)
    for_each<waker_key, waker_use>(
        map_.fd(), [&](const waker_key& key, const waker_use& use) { add(all, key, use); });
  std::vector<WakerUse> rows;
  for (const auto& [key, use] : all)
    rows.push_back({key.pid, static_cast<Reason>(key.reason), key.waker_pid, key.tid,
                    std::string(use.name, ::strnlen(use.name, sizeof(use.name))), use.ns,
                    use.count});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const WakerUse& a, const WakerUse& b) { return a.wait > b.wait; });
  return rows;
}

}  // namespace jobscope
