// All named waits of the session: those in the BPF map, those taken out of it, and those that each
// thread still has with it.
#pragma once

#include <compare>
#include <cstdint>
#include <map>

#include "bpf/thread.h"
#include "src/bpf/inner_map.h"

namespace jobscope {

struct WaitKeyLess {
  bool operator()(const wait_key& a, const wait_key& b) const;
};
using WaitMap = std::map<wait_key, wait_use, WaitKeyLess>;

class WaitTable {
 public:
  // Reads the map `waits`.
  void look(const InnerMap& map);
  // Takes the entries out of it before it fills. `entries`: put into it so far, in all.
  void make_room(InnerMap& map, uint64_t entries);
  // What a living thread has with it; forgotten at the next begin_look().
  void add_living(const thread& t);
  // What a thread had with it when it ended.
  void add_ended(const thread& t);
  void begin_look();

  // Everything, by key. Built when asked: ask once for each look.
  WaitMap all() const;

 private:
  void keep(const wait_key& key, const wait_use& use);

  WaitMap kept_;    // taken out of the map, or brought by ended threads
  WaitMap in_map_;  // as of the last look
  struct ThreadId {
    uint32_t tid;
    uint64_t start;
    auto operator<=>(const ThreadId&) const = default;
  };
  std::map<ThreadId, WaitMap> living_;  // as of the last look
};

}  // namespace jobscope
