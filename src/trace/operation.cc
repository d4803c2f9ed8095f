#include "src/trace/operation.h"

#include <array>
#include <cstring>
#include <string_view>

#include "bpf/request.h"
#include "src/bpf/kernel_btf.h"

namespace jobscope {
namespace {

struct Flag {
  const char* name;
  const char* bit;  // of enum req_flag_bits, which moves between kernels
  uint32_t mask;
};
using Flags = std::array<Flag, 5>;

// include/linux/blk_types.h: an enum of its own, or part of one without a name.
uint32_t mask_of(const btf* types, const char* bit) {
  const int id = btf__find_by_name_kind(types, "req_flag_bits", BTF_KIND_ENUM);
  if (id < 0) return 0;
  const btf_type* type = btf__type_by_id(types, static_cast<uint32_t>(id));
  const struct btf_enum* values = btf_enum(type);
  for (int i = 0; i < btf_vlen(type); ++i) {
    const char* name = btf__name_by_offset(types, values[i].name_off);
    if (name && std::strcmp(name, bit) == 0 && values[i].val < 32) return 1u << values[i].val;
  }
  return 0;
}

Flags read_flags() {
  Flags flags{{{"sync", "__REQ_SYNC", 0},
               {"meta", "__REQ_META", 0},
               {"fua", "__REQ_FUA", 0},
               {"ahead", "__REQ_RAHEAD", 0},
               {"background", "__REQ_BACKGROUND", 0}}};
  if (const btf* types = kernel_btf())
    for (Flag& flag : flags) flag.mask = mask_of(types, flag.bit);
  return flags;
}

}  // namespace

std::string operation_name(uint32_t operation) {
  constexpr std::array<const char*, BLOCK_OPERATIONS> kNames = {"read", "write", "flush",
                                                                "discard"};
  return operation < kNames.size() ? kNames[operation] : "?";
}

std::string operation_flags(uint32_t flags) {
  static const Flags kFlags = read_flags();
  std::string text;
  for (const Flag& flag : kFlags)
    if (flags & flag.mask) text += (text.empty() ? "" : ",") + std::string(flag.name);
  return text;
}

}  // namespace jobscope
