// The kinds of BPF programs that can be attached on the running kernel.
#pragma once

#include <string>
#include <vector>

namespace jobscope {

struct ProgramKind {
  std::string name;  // "kprobe", "tp_btf": libbpf's name of the section
  std::string lack;  // why it cannot be attached, or does not run when it is; "" if it works
};

// Loads and attaches one program of each kind for a moment, on paths that nobody takes but the
// calling thread, and sees whether it runs. Takes some tenths of a second.
std::vector<ProgramKind> probe_program_kinds();

}  // namespace jobscope
