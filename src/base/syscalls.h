// Names of the system calls of this architecture.
#pragma once

#include <string>

namespace jobscope {

// "sched_yield"; "syscall 700" for a number that the headers we were built with do not know.
std::string syscall_name(unsigned number);

}  // namespace jobscope
