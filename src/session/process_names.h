// Names of processes and of what lies in their memory, kept after they are gone.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bpf/thread.h"
#include "src/bpf/symbols.h"

namespace jobscope {

// A process is named by its pid and the start of its leader: pids are used again.
struct ProcessId {
  uint32_t pid = 0;
  uint64_t start = 0;
  auto operator<=>(const ProcessId&) const = default;
};

// One line of /proc/PID/maps.
struct Mapping {
  uint64_t start = 0, end = 0, offset = 0;
  bool executable = false;
  std::string path;  // "/usr/lib/libc.so.6", "[heap]", "" for anonymous memory
};
std::vector<Mapping> parse_maps(const std::string& text);
// What lies at an address: "libgomp.so.1", "heap", "stack", "anonymous memory", "" if nothing.
std::string owner_of(const std::vector<Mapping>& mappings, uint64_t address);

// A file, as long as nobody writes it.
struct FileVersion {
  uint64_t device = 0, inode = 0;
  int64_t seconds = 0, nanoseconds = 0;  // of its last change
  auto operator<=>(const FileVersion&) const = default;
};

class ProcessNames {
 public:
  // A process exists, under this name.
  void seen(ProcessId id, const std::string& name);
  bool knows(ProcessId id) const { return processes_.contains(id); }
  void exec(ProcessId id, uint64_t now);
  void ended(ProcessId id);
  // Looks at the memory of the living processes that are due (20 ms after an exec, then ever more
  // seldom), and tells the kernel side where their Python and OpenMP runtimes lie.
  void look(uint64_t now, int hints_map);
  // When look() has something to do next, ns; 0: nothing.
  uint64_t due() const { return due_.empty() ? 0 : due_.begin()->first; }

  // A child of `parent` (the newest process with this pid) ended after so long a life, ns.
  void child(uint32_t parent, const std::string& name, uint64_t lifetime);

  std::string name(ProcessId id) const;  // "" if unknown
  // The newest process that had this pid.
  std::string name_by_pid(uint32_t pid) const;
  // "true ×10000": those of the children of a process that lived longest in all; "" if it has none.
  std::string children(ProcessId parent) const;
  // What lies at an address of a process, as owner_of; "" if unknown. Of the ended processes the
  // last 2,048 are remembered.
  std::string owner(ProcessId id, uint64_t address) const;

 private:
  // A stretch of memory with one owner.
  struct Region {
    uint64_t start, end;
    const std::string* owner;  // in owners_
  };
  struct Process {
    std::string name;
    std::vector<Region> memory;  // in the order of addresses
    uint64_t next_look = 0;
    uint32_t looks = 0;
    bool ended = false;
  };
  using Processes = std::map<ProcessId, Process>;
  Processes::const_iterator newest(uint32_t pid) const;  // end(): none
  Process& get(ProcessId id);
  void look_at(ProcessId id, Process& process, int hints_map);
  void look_next(ProcessId id, Process& process, uint64_t when);
  hints find_hints(uint32_t pid, const std::vector<Mapping>& mappings);
  std::optional<Symbol> python_runtime(const std::string& path);
  const std::string* intern(const std::string& owner);
  std::vector<Region> regions_of(const std::vector<Mapping>& mappings);

  Processes processes_;
  std::set<std::string> owners_;
  std::deque<ProcessId> remembered_;              // ended ones whose memory is still known
  std::set<std::pair<uint64_t, ProcessId>> due_;  // next_look of the processes that have one
  std::map<FileVersion, std::optional<Symbol>> runtimes_;
  struct Children {
    uint64_t count = 0, lifetime = 0;
  };
  std::map<ProcessId, std::map<std::string, Children>> children_;  // ended ones, by parent and name
};

}  // namespace jobscope
