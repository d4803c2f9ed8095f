#include "src/bpf/block_hooks.h"

#include <cstring>

namespace jobscope {

BlockHooks find_block_hooks(const TracepointArguments& arguments) {
  const auto exists = [&](const char* name) { return arguments(name).has_value(); };
  const auto of_queue = [&](const char* name) {
    const auto list = arguments(name);
    return list && !list->empty() && list->front() == "request_queue";
  };
  BlockHooks hooks;
  hooks.start = exists("block_io_start");
  hooks.getrq = exists("block_getrq");
  hooks.issue = exists("block_rq_issue");
  hooks.complete = exists("block_rq_complete");
  hooks.merge = exists("block_rq_merge");
  hooks.getrq_of_queue = of_queue("block_getrq");
  hooks.issue_of_queue = of_queue("block_rq_issue");
  hooks.merge_of_queue = of_queue("block_rq_merge");
  return hooks;
}

uint32_t flush_sequence_flag(const btf* kernel) {
  constexpr uint32_t kBefore = 1 << 4;  // a macro then
  if (!kernel) return kBefore;
  // 5f89154e8e9e ("block: Use enum to define RQF_x bit indexes"), 6.11: an enum without a name
  for (uint32_t id = 1; id < btf__type_cnt(kernel); ++id) {
    const btf_type* type = btf__type_by_id(kernel, id);
    if (!btf_is_enum(type)) continue;
    const struct btf_enum* values = btf_enum(type);
    for (int i = 0; i < btf_vlen(type); ++i) {
      const char* name = btf__name_by_offset(kernel, values[i].name_off);
      if (name && std::strcmp(name, "__RQF_FLUSH_SEQ") == 0) return 1u << values[i].val;
    }
  }
  return kBefore;
}

}  // namespace jobscope
