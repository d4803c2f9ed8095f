// Who ended the waits of main threads: what is in the BPF map `wakers` and what was taken out of
// it.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "bpf/thread.h"
#include "src/bpf/inner_map.h"
#include "src/model/snapshot.h"

namespace jobscope {

class WakerTable {
 public:
  WakerTable() = default;
  explicit WakerTable(InnerMap map) : map_(std::move(map)) {}

  // Takes the entries out of the map before it fills. `entries`: put into it so far, in all.
  void make_room(uint64_t entries);
  // All of them, the longest wait first.
  std::vector<WakerUse> rows() const;
  // Adds what one waker did.
  void add(const waker_key& key, const waker_use& use);

 private:
  struct Less {
    bool operator()(const waker_key& a, const waker_key& b) const;
  };
  using Uses = std::map<waker_key, waker_use, Less>;
  static void add(Uses& uses, const waker_key& key, const waker_use& use);

  InnerMap map_;
  Uses kept_;  // taken out of the map
};

}  // namespace jobscope
