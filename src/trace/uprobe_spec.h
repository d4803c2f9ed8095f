// Which function a person wants to see called: "uprobe:LIB:SYMBOL(arg0: u64, name: str)".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/trace/records.h"

namespace jobscope {

struct UprobeArgument {
  std::string name;
  enum class Type { u8, u16, u32, u64, i8, i16, i32, i64, ptr, hex, str } type = Type::u64;
};

struct UprobeSpec {
  bool at_return = false;
  std::string library, symbol;
  std::vector<UprobeArgument> arguments;  // of a return: at most one, what it gives
};

// Without an argument list, or with an empty one, a call has no arguments to show.
Result<UprobeSpec> parse_uprobe(const std::string& text);

// Where the arguments lie at the entry of the function (x86-64 System V, or AArch64), for the
// kernel side. Nothing here takes floating-point numbers or structs, which would have their own
// registers.
std::vector<uprobe_argument> places_of(const UprobeSpec& spec);

// A value as its type has it.
std::string argument_text(UprobeArgument::Type type, uint64_t value);

// What is looked at to find a library by name.
struct LibrarySources {
  std::string proc = "/proc";
  std::string cache = "/etc/ld.so.cache";
};
// The file of a library: a path as it is; a name ("libc.so.6", "libc", "c") by the loader's cache,
// or as one of the processes has it mapped: those in `pids`, or any if there are none.
Result<std::string> find_library(const std::string& library, const std::vector<uint32_t>& pids,
                                 const LibrarySources& sources = {});
// Paths of libraries in the loader's cache by their names.
std::vector<std::pair<std::string, std::string>> read_loader_cache(const std::string& bytes);

}  // namespace jobscope
