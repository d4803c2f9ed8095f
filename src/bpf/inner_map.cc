#include "src/bpf/inner_map.h"

#include <utility>

namespace jobscope {
namespace {

// With the same types: from 5.15 to 6.1 a map that has none is not taken in the place of one that
// has some (bpf_map_meta_equal() compared what was found in them, "nothing" and "not looked").
Result<Fd> create_like(int map, int types) {
  bpf_map_info info{};
  uint32_t size = sizeof(info);
  if (bpf_obj_get_info_by_fd(map, &info, &size) != 0) return fail_errno("looking at a BPF map");
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = info.map_flags);
  if (types >= 0 && info.btf_id) {
    options.btf_fd = static_cast<uint32_t>(types);
    options.btf_key_type_id = info.btf_key_type_id;
    options.btf_value_type_id = info.btf_value_type_id;
  }
  Fd created(bpf_map_create(static_cast<bpf_map_type>(info.type), info.name, info.key_size,
                            info.value_size, info.max_entries, &options));
  if (!created) return fail_errno("creating a BPF map");
  return created;
}

}  // namespace

Result<> InnerMap::exchange() {
  if (spare_ < 0) {
    second_ = TRY(create_like(current_, types_));
    spare_ = second_.get();
  }
  const uint32_t zero = 0;
  if (bpf_map_update_elem(array_, &zero, &spare_, BPF_ANY) != 0)
    return fail_errno("exchanging a BPF map");
  std::swap(current_, spare_);
  return {};
}

}  // namespace jobscope
