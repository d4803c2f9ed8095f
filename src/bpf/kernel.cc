#include "src/bpf/kernel.h"

#include <sys/resource.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string>
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

bool has_struct_member(const char* type, std::string_view member) {
  const btf* types = kernel_btf();
  if (!types) return false;
  const int id = btf__find_by_name_kind(types, type, BTF_KIND_STRUCT);
  return id > 0 && member_offset(types, static_cast<uint32_t>(id), member);
}

// Whether the kernel has a helper: BPF_CALL() makes a type of it (include/linux/filter.h).
// libbpf_probe_bpf_helper() does not tell for tracing programs.
bool has_helper(const std::string& name) {
  const btf* types = kernel_btf();
  return types && btf__find_by_name_kind(types, ("btf_" + name).c_str(), BTF_KIND_TYPEDEF) > 0;
}

// Symbols of per-CPU variables are offsets in the section. They are all 0 for those that may not
// see addresses, and there only with CONFIG_KALLSYMS_ALL.
std::optional<int64_t> distance_by_symbols() {
  std::ifstream symbols("/proc/kallsyms");
  std::optional<int64_t> runqueue, count;
  for (std::string line; std::getline(symbols, line) && !(runqueue && count);) {
    const auto address = static_cast<int64_t>(std::strtoull(line.c_str(), nullptr, 16));
    if (line.ends_with(" runqueues")) runqueue = address;
    if (line.ends_with(" __preempt_count")) count = address;
  }
  if (!runqueue || !count || *runqueue == *count) return std::nullopt;
  return *count - *runqueue;
}

std::optional<int64_t> distance_by_types(const btf* types) {
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

}  // namespace

bool has_task_storage() {
  // In 5.11 and 5.12 (4cf1bc1f1045) only LSM programs could use it; a10787e6d58c moved it to the
  // task.
  static const bool kHas = !is_masked("task_storage") &&
                           has_struct_member("task_struct", "bpf_storage") &&
                           libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, nullptr) == 1;
  return kHas;
}

std::string memlock_hint(int code) {
  rlimit limit{};
  const bool limited = ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  if (code != EPERM || has_task_storage() || !limited) return {};
  return "this kernel counts BPF memory against 'ulimit -l': raise that limit, or run jobscope as "
         "root";
}

bool has_task_pt_regs() {
  static const bool kHas = !is_masked("task_pt_regs") && has_helper("bpf_task_pt_regs");
  return kHas;
}

bool has_socket_storage() {
  static const bool kHas = !is_masked("socket_storage") && has_helper("bpf_sk_storage_get_tracing");
  return kHas;
}

bool has_sched_info() {
  static const bool kHas = !is_masked("sched_info") && has_struct_member("sched_info", "run_delay");
  return kHas;
}

bool has_switch_allocation() {
  return !is_masked("switch_allocation") && has_function("kfree_nolock");
}

std::optional<int64_t> preempt_count_from_runqueue() {
  const btf* types = kernel_btf();
  if (const auto distance = types ? distance_by_types(types) : std::nullopt) return distance;
  return distance_by_symbols();
}

}  // namespace jobscope
