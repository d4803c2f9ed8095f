// Reading all rows of a map of somebody else's program.
#pragma once

#include <bpf/bpf.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"

namespace jobscope {

class MapRows {
 public:
  // `map` is a descriptor that outlives it. An error: of a type that has no rows to read, or whose
  // values are not of 8 bytes.
  static Result<MapRows> of(int map);

  uint32_t id() const { return info_.id; }  // the kernel's
  uint32_t key_size() const { return info_.key_size; }
  uint32_t entries() const { return info_.max_entries; }
  bool per_cpu() const { return per_cpu_; }

  // Calls f(key, values) for each row: one value, or one for each possible CPU. Takes some
  // thousand rows at a time, so a large map costs no memory here. Each key comes at most once,
  // though the map changes meanwhile (on tries, which the kernel cannot read in one go, twice at
  // most). An error of `f` ends it.
  using Visitor = std::function<Result<>(std::string_view key, std::span<const uint64_t> values)>;
  Result<> for_each(const Visitor& f);
  // Arrays keep all their rows.
  bool can_remove() const {
    return info_.type != BPF_MAP_TYPE_ARRAY && info_.type != BPF_MAP_TYPE_PERCPU_ARRAY;
  }
  void remove(const std::string& key) const { bpf_map_delete_elem(map_, key.data()); }
  // Takes all rows out.
  void clear() const;

 private:
  Result<> one_by_one(const Visitor& f);
  Result<> visit(size_t count, const Visitor& f);

  int map_ = -1;
  bpf_map_info info_{};
  bool per_cpu_ = false;
  uint32_t cpus_ = 1;  // values of a row
  bool batches_ = true;
  std::vector<char> keys_;
  std::vector<uint64_t> values_;
};

}  // namespace jobscope
