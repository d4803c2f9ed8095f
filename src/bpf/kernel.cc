#include "src/bpf/kernel.h"

#include <bpf/libbpf.h>

#include <string_view>

#include "src/bpf/kernel_btf.h"

namespace jobscope {
namespace {

std::optional<uint32_t> member_offset(const btf* types, uint32_t type, std::string_view name) {
  const btf_type* t = btf__type_by_id(types, type);
  if (!t || !btf_is_composite(t)) return std::nullopt;
  const btf_member* member = btf_members(t);
  for (int i = 0; i < btf_vlen(t); ++i, ++member) {
    const std::string_view its = btf__name_by_offset(types, member->name_off);
    if (its == name) return btf_member_bit_offset(t, i) / 8;
    if (its.empty())
      if (const auto inner = member_offset(types, member->type, name))
        return btf_member_bit_offset(t, i) / 8 + *inner;
  }
  return std::nullopt;
}

}  // namespace

bool has_task_storage() {
  static const bool kHas = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, nullptr) == 1;
  return kHas;
}

bool has_task_pt_regs() {
  static const bool kHas =
      libbpf_probe_bpf_helper(BPF_PROG_TYPE_TRACING, BPF_FUNC_task_pt_regs, nullptr) == 1;
  return kHas;
}

std::optional<int64_t> preempt_count_from_runqueue() {
  const btf* types = kernel_btf();
  if (!types) return std::nullopt;
  const int section = btf__find_by_name_kind(types, ".data..percpu", BTF_KIND_DATASEC);
  if (section < 0) return std::nullopt;
  const btf_type* t = btf__type_by_id(types, static_cast<uint32_t>(section));
  std::optional<int64_t> runqueue, count;
  const btf_var_secinfo* variable = btf_var_secinfos(t);
  for (int i = 0; i < btf_vlen(t); ++i, ++variable) {
    const btf_type* v = btf__type_by_id(types, variable->type);
    const std::string_view name = btf__name_by_offset(types, v->name_off);
    if (name == "runqueues") runqueue = variable->offset;
    if (name == "__preempt_count") count = variable->offset;
    if (name == "pcpu_hot")  // 64701838bf05, 6.2; gone again in 6.15
      if (const auto inside = member_offset(types, v->type, "preempt_count"))
        count = static_cast<int64_t>(variable->offset) + *inside;
  }
  if (!runqueue || !count) return std::nullopt;
  return *count - *runqueue;
}

}  // namespace jobscope
