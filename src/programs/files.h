// The files of a person's programs: NAME.yaml beside NAME.bpf.o or NAME.bpf.c.
#pragma once

#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/programs/program_set.h"

namespace jobscope {

// Reads DIR/NAME.yaml and DIR/NAME.bpf.o; if there is no object, compiles DIR/NAME.bpf.c. Errors
// name the file. `name` is no path.
Result<ProgramFiles> read_program_files(const std::string& folder, const std::string& name,
                                        const std::string& btf_path);

struct ProgramSummary {
  std::string name;
  std::string about;  // the first comment of NAME.yaml; "" if it begins with none
};
// The pairs in a folder, sorted; empty if it cannot be read.
std::vector<ProgramSummary> list_programs(const std::string& folder);

// Writes a commented pair to start from, NAME.bpf.c and NAME.yaml, into `folder`. An error if the
// name is none, or one of them is there already: nothing is overwritten.
Result<> write_new_program(const std::string& folder, const std::string& name);

}  // namespace jobscope
