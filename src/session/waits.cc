#include "src/session/waits.h"

#include <tuple>

namespace jobscope {
namespace {

constexpr uint64_t kTakeOut = 6000;  // of the map's room for 16384
constexpr size_t kMaxKept = 65536;

auto order(const wait_key& k) {
  return std::tie(k.process, k.pid, k.main_thread, k.reason, k.detail, k.id[0], k.id[1]);
}

void add(WaitMap& map, const wait_key& key, const wait_use& use) {
  wait_use& sum = map[key];
  sum.ns += use.ns;
  sum.count += use.count;
}

// The same wait without the process it happened in and what it was for.
wait_key anonymous(const wait_key& key) {
  wait_key folded{};
  folded.reason = key.reason;
  folded.main_thread = key.main_thread;
  return folded;
}

}  // namespace

bool WaitKeyLess::operator()(const wait_key& a, const wait_key& b) const {
  return order(a) < order(b);
}

void WaitTable::begin_look() { living_.clear(); }

void WaitTable::make_room(InnerMap& map, uint64_t entries) {
  map.make_room<wait_key, wait_use>(
      entries, kTakeOut, [this](const wait_key& key, const wait_use& use) { keep(key, use); });
}

void WaitTable::look(const InnerMap& map) {
  in_map_.clear();
  for_each<wait_key, wait_use>(
      map.fd(), [this](const wait_key& key, const wait_use& use) { in_map_[key] = use; });
}

void WaitTable::keep(const wait_key& key, const wait_use& use) {
  if (kept_.size() < kMaxKept || kept_.contains(key))
    add(kept_, key, use);
  else
    add(kept_, anonymous(key), use);
}

void WaitTable::add_living(const thread& t) {
  WaitMap& its = living_[{t.tid, t.start}];
  its.clear();
  for (const named_wait& named : t.named)
    if (named.use.count) add(its, named.key, named.use);
  if (t.state != THREAD_BLOCKED || t.now <= t.since) return;
  const uint64_t held = t.now - t.since;
  if (t.queued < held) add(its, t.wait, {held - t.queued, 1});
}

void WaitTable::add_ended(const thread& t) {
  living_.erase({t.tid, t.start});  // it ended between the walk and this record
  for (const named_wait& named : t.named)
    if (named.use.count) keep(named.key, named.use);
}

WaitMap WaitTable::all() const {
  WaitMap sum = kept_;
  for (const auto& [key, use] : in_map_) add(sum, key, use);
  for (const auto& [id, its] : living_)
    for (const auto& [key, use] : its) add(sum, key, use);
  return sum;
}

}  // namespace jobscope
