// Names of the frames of a stack.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/trace/elf_functions.h"

namespace jobscope {

// The kernel's functions, from /proc/kallsyms. Read while we are root.
class KernelSymbols {
 public:
  static KernelSymbols read(const std::string& path = "/proc/kallsyms");
  // "" if it is not known, or if the kernel hides its addresses.
  std::string name(uint64_t address) const;

 private:
  std::vector<std::pair<uint64_t, std::string>> functions_;  // by address
};

// The innermost frames that say something, at most `most`: without what every wait has in common
// (the scheduler, the entry of system calls). "folio_wait_bit_common < filemap_read < vfs_read"
std::string kernel_line(const KernelSymbols& symbols, std::span<const uint64_t> frames,
                        size_t most = 4);

// What lies where in the memory of processes.
class ProcessMaps {
 public:
  explicit ProcessMaps(std::string proc = "/proc") : proc_(std::move(proc)) {}

  struct Place {
    std::string path;     // "[heap]", "" for memory without a name
    uint64_t offset = 0;  // in the file
    uint64_t base = 0;    // where the file's first byte lies, or would
  };
  // Empty if the process is gone, or has nothing there.
  std::optional<Place> at(uint32_t pid, uint64_t address);
  // "read+0x4d (libc.so.6)", "(libfoo.so+0x12)", "0x7f…"
  std::string frame(uint32_t pid, uint64_t address);
  // Whether an address is CPython's _PyRuntime, in which the GIL lies.
  bool is_python_runtime(uint32_t pid, uint64_t address);

 private:
  struct Area {
    uint64_t start, end, offset;
    std::string path;
  };
  const std::vector<Area>& areas(uint32_t pid, bool again);
  const ElfFunctions* functions(uint32_t pid, const std::string& path);

  std::string proc_;
  std::map<uint32_t, std::vector<Area>> areas_;                   // of the processes asked for last
  std::map<std::string, std::optional<ElfFunctions>> functions_;  // by path
  std::map<std::string, std::pair<uint64_t, uint64_t>> runtimes_;  // by path: from, to
};

}  // namespace jobscope
