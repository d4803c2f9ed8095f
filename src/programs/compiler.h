// Compiles a person's NAME.bpf.c.
#pragma once

#include <chrono>
#include <string>

#include "src/base/result.h"

namespace jobscope {

// The object's bytes. Runs clang (else the newest of clang-19 to clang-12) for this machine's
// architecture. The program may include what lies beside it, libbpf's headers, `vmlinux.h` (written
// from the running kernel's types, or from those of `btf_path`) and `jobscope.bpf.h`
// (programs/jobscope.bpf.h). Errors: no clang; what clang says, with file and line, is the hint.
// A clang that takes longer than `most_time`, or that runs while SIGTERM or its like waits for us,
// is ended; it never outlives us. The source must be a regular file. Not for use beside threads.
Result<std::string> compile_program(const std::string& source, const std::string& btf_path,
                                    std::chrono::seconds most_time = std::chrono::seconds(120));

}  // namespace jobscope
