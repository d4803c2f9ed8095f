// Reading BPF maps with the types of the shared headers.
#pragma once

#include <bpf/bpf.h>

#include <cstdint>
#include <vector>

namespace jobscope {

// Calls f(key, value) for each entry of a hash. An entry that goes away meanwhile is skipped.
template <class Key, class Value, class F>
void for_each(int map, F f) {
  Key key{}, next{};
  const void* from = nullptr;
  while (bpf_map_get_next_key(map, from, &next) == 0) {
    Value value{};
    if (bpf_map_lookup_elem(map, &next, &value) == 0) f(next, value);
    key = next;
    from = &key;
  }
}

// Takes all entries out of a hash that nobody writes meanwhile.
template <class Key>
void clear(int map) {
  Key key{}, next{};
  bool more = bpf_map_get_next_key(map, nullptr, &key) == 0;
  while (more) {  // the next one first: without a key to go on from the kernel begins at the front
    more = bpf_map_get_next_key(map, &key, &next) == 0;
    bpf_map_delete_elem(map, &key);
    key = next;
  }
}

// The first entry of an array; zeros on failure.
template <class Value>
Value first(int map) {
  const uint32_t zero = 0;
  Value value{};
  if (bpf_map_lookup_elem(map, &zero, &value) != 0) value = {};
  return value;
}

// The values of one entry of a per-CPU array, one for each possible CPU; empty on failure.
template <class Value>
std::vector<Value> per_cpu(int map, uint32_t index, uint32_t cpus) {
  static_assert(sizeof(Value) % 8 == 0);
  std::vector<Value> values(cpus);
  if (bpf_map_lookup_elem(map, &index, values.data()) != 0) values.clear();
  return values;
}

}  // namespace jobscope
