// Operations of block requests by name.
#pragma once

#include <cstdint>
#include <string>

namespace jobscope {

// "read", "write", "flush", "discard"
std::string operation_name(uint32_t operation);
// The flags beside it, as the kernel's own traces have them: "sync,meta,fua,ahead,background"; ""
// if there are none of these. `flags`: request.cmd_flags, whose bits the running kernel's BTF
// names.
std::string operation_flags(uint32_t flags);

}  // namespace jobscope
