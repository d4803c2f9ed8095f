// What /proc says of one process: raw, bounded, and read without asking anybody else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace jobscope {

// Of one thread: the line of its `stat`.
struct ThreadStat {
  std::string comm;
  uint32_t parent = 0;
  uint32_t session = 0;
  uint64_t start = 0;  // clock ticks since the boot
  uint64_t stack = 0;  // where the main thread's stack began at the exec; 0: not for us to see
  bool kernel = false;

  // True if this is the same thread, which has not begun another program meanwhile. One that ends
  // has no stack any more, and is the same.
  bool same_program(const ThreadStat& later) const {
    return start == later.start && (stack == later.stack || later.stack == 0) && comm == later.comm;
  }
};
std::optional<ThreadStat> parse_thread_stat(const std::string& text);

// The first `limit` bytes of a file, in system calls that a virtual file can be read by whole.
// Empty if it cannot be opened or read.
std::optional<std::string> read_start(const std::string& path, size_t limit);

class ProcessFiles {
 public:
  explicit ProcessFiles(std::string proc) : proc_(std::move(proc)) {}

  // Of a process or a thread. Cheap, and takes no lock of a process with many threads.
  std::optional<ThreadStat> stat(uint32_t tid) const;
  struct Owner {
    uint32_t process = 0;  // that the thread belongs to
    uint32_t user = 0;     // real user id
  };
  std::optional<Owner> owner(uint32_t tid) const;
  std::vector<std::string> command_line(uint32_t pid) const;  // empty if there is none
  std::string environment(uint32_t pid) const;  // "A=1\0B=2\0", without a last entry that was cut
  std::string cgroups(uint32_t pid) const;      // text of /proc/PID/cgroup
  // Whether a library of an AI framework is mapped. Looks at the first 16 MiB of the list.
  bool maps_framework(uint32_t pid) const;
  std::vector<uint32_t> processes() const;
  // "" if it is not known.
  std::string host_name() const;

 private:
  std::string path(uint32_t pid, const char* file) const;
  std::string proc_;
};

// True if the base name of a mapped file is that of an AI framework's library.
bool is_framework_library(std::string_view file);

}  // namespace jobscope
