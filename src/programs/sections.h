// The section names of an eBPF object, which say where its programs attach.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"

namespace jobscope {

// SEC("fentry/x | kprobe/x") → {"fentry/x", "kprobe/x"}.
std::vector<std::string> section_alternatives(std::string_view section);

// The sections of an object file (the bytes of one) that hold programs and name alternatives.
// An error: the bytes are no BPF object.
Result<std::vector<std::string>> sections_with_alternatives(std::string_view object);

// Renames the section `from` to `to`, which is not longer, in the object's own bytes.
Result<> rename_section(std::string& object, std::string_view from, std::string_view to);

// What a section with a path or a library in it names: "uprobe/libc.so.6:malloc" is
// {"uprobe", "libc.so.6", "malloc"}; with "usdt" the rest is "provider:name".
struct BinarySection {
  std::string kind, binary, rest;
};
// Empty parts, if it is none of uprobe, uretprobe, uprobe.s, uretprobe.s and usdt.
BinarySection binary_section(std::string_view section);

// "perf_event/type=1,config=0,frequency=99": what perf_event_open() is to sample.
struct PerfEventSection {
  uint32_t type = 0;
  uint64_t config = 0, frequency = 0, period = 0;
};
Result<PerfEventSection> perf_event_section(std::string_view section);

}  // namespace jobscope
