#include "src/bpf/kernel.h"

#include <bpf/btf.h>

#include <memory>
#include <string_view>

namespace jobscope {
namespace {

struct FreeBtf {
  void operator()(btf* b) const { btf__free(b); }
};

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

std::optional<int64_t> preempt_count_from_runqueue() {
  const std::unique_ptr<btf, FreeBtf> types(btf__load_vmlinux_btf());
  if (!types) return std::nullopt;
  const int section = btf__find_by_name_kind(types.get(), ".data..percpu", BTF_KIND_DATASEC);
  if (section < 0) return std::nullopt;
  const btf_type* t = btf__type_by_id(types.get(), static_cast<uint32_t>(section));
  std::optional<int64_t> runqueue, count;
  const btf_var_secinfo* variable = btf_var_secinfos(t);
  for (int i = 0; i < btf_vlen(t); ++i, ++variable) {
    const btf_type* v = btf__type_by_id(types.get(), variable->type);
    const std::string_view name = btf__name_by_offset(types.get(), v->name_off);
    if (name == "runqueues") runqueue = variable->offset;
    if (name == "__preempt_count") count = variable->offset;
    if (name == "pcpu_hot")  // 64701838bf05, 6.2; gone again in 6.15
      if (const auto inside = member_offset(types.get(), v->type, "preempt_count"))
        count = static_cast<int64_t>(variable->offset) + *inside;
  }
  if (!runqueue || !count) return std::nullopt;
  return *count - *runqueue;
}

}  // namespace jobscope
