#include "src/programs/map_rows.h"

#include <fmt/format.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>

namespace jobscope {
namespace {

constexpr uint32_t kBatch = 4096;            // rows
constexpr uint32_t kLargestBatch = 1 << 20;  // one bucket of a hash must fit
constexpr int kNotSupported = 524;           // ENOTSUPP, which user space has no name for

// Whether it has rows with keys.
bool is_readable(uint32_t type) {
  switch (type) {
    case BPF_MAP_TYPE_HASH:
    case BPF_MAP_TYPE_ARRAY:
    case BPF_MAP_TYPE_PERCPU_HASH:
    case BPF_MAP_TYPE_PERCPU_ARRAY:
    case BPF_MAP_TYPE_LRU_HASH:
    case BPF_MAP_TYPE_LRU_PERCPU_HASH:
    case BPF_MAP_TYPE_LPM_TRIE: return true;
    default: return false;
  }
}

bool is_per_cpu(uint32_t type) {
  return type == BPF_MAP_TYPE_PERCPU_HASH || type == BPF_MAP_TYPE_PERCPU_ARRAY ||
         type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

}  // namespace

Result<MapRows> MapRows::of(int map) {
  MapRows rows;
  rows.map_ = map;
  uint32_t size = sizeof(rows.info_);
  if (const int error = bpf_obj_get_info_by_fd(map, &rows.info_, &size))
    return fail_errno("what the kernel says of a map", -error);
  if (!is_readable(rows.info_.type)) {
    const char* name = libbpf_bpf_map_type_str(static_cast<bpf_map_type>(rows.info_.type));
    return fail(fmt::format("it is of type {}, which has no rows to read",
                            name ? name : std::to_string(rows.info_.type)),
                "use a hash or an array");
  }
  if (rows.info_.value_size != sizeof(uint64_t))
    return fail(fmt::format("its values have {} bytes, it must be 8 (u64)", rows.info_.value_size));
  rows.per_cpu_ = is_per_cpu(rows.info_.type);
  if (rows.per_cpu_) {
    const int cpus = libbpf_num_possible_cpus();
    if (cpus < 1) return fail_errno("the number of CPUs", -cpus);
    rows.cpus_ = static_cast<uint32_t>(cpus);
  }
  return rows;
}

Result<> MapRows::visit(size_t count, const Visitor& f) {
  const size_t size = info_.key_size;
  for (size_t i = 0; i < count; ++i)
    TRY(f(std::string_view(keys_.data() + i * size, size),
          std::span<const uint64_t>(values_.data() + i * cpus_, cpus_)));
  return {};
}

Result<> MapRows::for_each(const Visitor& f) {
  if (!batches_) return one_by_one(f);
  // Where the kernel goes on: a number for hashes and arrays, a key for others.
  std::vector<char> from(std::max<size_t>(info_.key_size, sizeof(uint64_t))), next(from.size());
  uint32_t room = std::min(kBatch, std::max(info_.max_entries, 1u));
  for (bool first = true;;) {
    keys_.resize(static_cast<size_t>(room) * info_.key_size);
    values_.resize(static_cast<size_t>(room) * cpus_);
    uint32_t count = room;
    const int error = bpf_map_lookup_batch(map_, first ? nullptr : from.data(), next.data(),
                                           keys_.data(), values_.data(), &count, nullptr);
    if (error == -ENOSPC && room < kLargestBatch) {
      room *= 2;
      continue;
    }
    if (first && (error == -EINVAL || error == -kNotSupported || error == -ENOTSUP)) {
      batches_ = false;
      return one_by_one(f);
    }
    if (error && error != -ENOENT) return fail_errno("reading a map", -error);
    TRY(visit(count, f));
    if (error == -ENOENT) return {};
    first = false;
    from.swap(next);
  }
}

Result<> MapRows::one_by_one(const Visitor& f) {
  keys_.resize(2 * static_cast<size_t>(info_.key_size));
  values_.resize(cpus_);
  char* key = keys_.data() + info_.key_size;  // visit() looks at the front
  const void* from = nullptr;
  // A key that goes away sends the kernel back to the start.
  for (uint64_t left = 2ULL * info_.max_entries; left > 0; --left) {
    if (bpf_map_get_next_key(map_, from, key) != 0) return {};
    std::copy(key, key + info_.key_size, keys_.data());
    if (bpf_map_lookup_elem(map_, keys_.data(), values_.data()) == 0) TRY(visit(1, f));
    from = keys_.data();
  }
  return {};
}

void MapRows::clear() const {
  std::vector<char> key(info_.key_size), next(info_.key_size);
  bool more = bpf_map_get_next_key(map_, nullptr, key.data()) == 0;
  while (more) {
    more = bpf_map_get_next_key(map_, key.data(), next.data()) == 0;
    bpf_map_delete_elem(map_, key.data());
    key.swap(next);
  }
}

}  // namespace jobscope
