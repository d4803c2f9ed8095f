#include "src/bpf/prototype.h"

#include "src/bpf/kernel_btf.h"

namespace jobscope {

std::optional<std::vector<std::string>> tracepoint_arguments(const std::string& name) {
  const btf* types = kernel_btf();
  if (!types || is_masked(name)) return std::nullopt;
  // typedef void (*btf_trace_NAME)(void *, …): include/trace/bpf_probe.h
  const int id = btf__find_by_name_kind(types, ("btf_trace_" + name).c_str(), BTF_KIND_TYPEDEF);
  if (id < 0) return std::nullopt;
  const btf_type* pointer = btf__type_by_id(types, btf__type_by_id(types, id)->type);
  const btf_type* prototype = btf__type_by_id(types, pointer->type);
  if (!prototype || !btf_is_func_proto(prototype)) return std::nullopt;
  std::vector<std::string> arguments;
  const btf_param* parameter = btf_params(prototype);
  for (int i = 1; i < btf_vlen(prototype); ++i) {  // the first is the tracepoint's own
    const btf_type* type = btf__type_by_id(types, parameter[i].type);
    std::string target;
    if (type && btf_is_ptr(type)) {
      type = btf__type_by_id(types, type->type);
      while (type && btf_is_mod(type)) type = btf__type_by_id(types, type->type);
      if (type && btf_is_struct(type)) target = btf__name_by_offset(types, type->name_off);
    }
    arguments.push_back(std::move(target));
  }
  return arguments;
}

}  // namespace jobscope
