#include "src/base/syscalls.h"

#include <asm/unistd.h>

namespace jobscope {

std::string syscall_name(unsigned number) {
  switch (number) {
#define SYSCALL(number, name) \
  case number:                \
    return name;
#include "syscall_names.inc"
#undef SYSCALL
    default: return "syscall " + std::to_string(number);
  }
}

}  // namespace jobscope
