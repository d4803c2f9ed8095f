// Which types of BPF programs can be attached on the running kernel.
#pragma once

#include <string>
#include <vector>

namespace jobscope {

struct ProgramType {
  std::string name;  // "kprobe", "tp_btf": libbpf's name of the section
  std::string lack;  // why it cannot be attached, or does not run when it is; "" if it works
};

// Loads and attaches one program of each type for a moment, and sees whether it runs when the
// calling thread passes its hook (others may pass it, too: a rename of a task, getpgid). Takes some
// tenths of a second.
std::vector<ProgramType> probe_program_types();

}  // namespace jobscope
