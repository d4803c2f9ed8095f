// Libraries by name: in the folders of the system, and as running processes have them mapped.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/base/fd.h"

namespace jobscope {

// Finds files by the last part of their path, which may be a pattern (`libtorch*.so`), once each:
// a container's own copy is another file. Not for use from several threads at once.
class MappedFiles {
 public:
  explicit MappedFiles(std::string proc = "/proc") : proc_(std::move(proc)) {}

  void want(const std::string& pattern) { wanted_.insert(pattern); }
  bool wants_any() const { return !wanted_.empty(); }

  struct Found {
    std::string pattern;
    std::string path;  // for messages, maybe below /proc/PID/root; another file may be there by now
    Fd file;           // open for reading: a regular file, to be had as /proc/self/fd/N
  };
  // Files that were not found before. Young processes are looked at each time, others rarely: a
  // library that is loaded late is found late. `now`: CLOCK_MONOTONIC, ns.
  std::vector<Found> look(uint64_t now);

 private:
  struct Process {
    uint64_t next = 0, delay = 0;  // ns
    bool seen = false;
  };
  using File = std::pair<dev_t, ino_t>;
  void look_in_folders(std::vector<Found>& found);
  void look_at(const std::string& pid, std::vector<Found>& found);
  void consider(const std::string& path, const std::string& name, std::vector<Found>& found);

  std::string proc_;
  std::set<std::string> wanted_;
  std::map<std::string, Process> processes_;
  std::map<std::string, std::set<File>> files_;  // by pattern
};

}  // namespace jobscope
