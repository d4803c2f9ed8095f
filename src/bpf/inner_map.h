// A hash that BPF programs reach through an array of one map, so that it can be emptied without
// losing an update: user space puts another in its place and reads the old one when no program
// holds it any more.
#pragma once

#include <bpf/bpf.h>

#include "src/base/fd.h"
#include "src/base/result.h"
#include "src/bpf/map.h"
#include "src/bpf/shared_maps.h"

namespace jobscope {

class InnerMap {
 public:
  InnerMap() = default;
  // `array`: of maps, with one entry; `inner`: the hash in it; `types`: the BTF that the object
  // with these maps was loaded with. All stay the caller's and must live as long as this.
  InnerMap(int array, int inner, int types) : array_(array), current_(inner), types_(types) {}

  // The hash that is being written; -1 if there is none.
  int fd() const { return current_; }

  // Bytes of kernel memory behind the spare one.
  uint64_t spare_bytes() const { return second_ ? map_bytes(second_.get()) : 0; }

  // Puts an empty hash in its place, whatever its kind, and gives the full one, which nobody writes
  // any more. It is the caller's to read and to clear before the next call. Blocks like
  // make_room().
  Result<int> swap() {
    const int old = current_;
    TRY(exchange());
    return old;
  }

  // When `limit` entries have come since the last time: calls f(key, value) for each and leaves an
  // empty hash behind. `entries`: put into it so far, in all. Blocks for a grace period of RCU
  // then, some ten ms. If that fails all stays as it is, and the next call tries again.
  template <class Key, class Value, class F>
  void make_room(uint64_t entries, uint64_t limit, F f) {
    if (entries - emptied_at_ < limit) return;
    const int old = current_;
    if (!exchange()) return;
    emptied_at_ = entries;
    for_each<Key, Value>(old, f);
    clear<Key>(old);
  }

 private:
  // Puts the spare one in place (made when first needed). The kernel waits until every program that
  // may still hold the old one has ended: 1ae80cf31938 ("bpf: wait for running BPF programs when
  // updating map-in-map"), 4.19.
  Result<> exchange();

  int array_ = -1, current_ = -1, types_ = -1, spare_ = -1;
  uint64_t emptied_at_ = 0;  // `entries` then
  Fd second_;
};

}  // namespace jobscope
