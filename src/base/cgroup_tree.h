// Ids of cgroups and their paths, learnt as they come and go, so that the id of one that is gone
// still has a path.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/base/fd.h"
#include "src/base/result.h"

namespace jobscope {

// The root of the unified hierarchy: `cgroups` itself (v2), or `cgroups`/unified (hybrid). "" if
// neither is one.
std::string unified_hierarchy(const std::string& cgroups = "/sys/fs/cgroup");

// An id is the inode number of the cgroup's directory, as bpf_get_current_cgroup_id() gives it. A
// path is below the root of the hierarchy: "/" for the root, "/a/b". In a container with a cgroup
// namespace of its own only what is below its own cgroup can be seen.
class CgroupTree {
 public:
  struct Event {
    enum What { added, removed } what;
    uint64_t id;
    std::string path;
    bool operator==(const Event&) const = default;
  };
  struct Limits {
    size_t removed = 16'384;  // how many that are gone are remembered
    size_t living = 65'536;   // beyond: unknown, and counted
  };

  // Walks the tree, and watches it from then on. `root`: of the hierarchy.
  static Result<std::unique_ptr<CgroupTree>> open(std::string root, Limits limits);
  static Result<std::unique_ptr<CgroupTree>> open(std::string root) {
    return open(std::move(root), Limits{});
  }

  // From any thread, while another one is in drain(): a look into a table.
  std::string path(uint64_t id) const;  // "" if unknown
  std::vector<std::pair<uint64_t, std::string>> living() const;
  // Cgroups that could not be learnt or watched; while there are some, drain() walks the tree.
  uint64_t unwatched() const;

  // Below: from one thread only.

  // Readable when there is something to drain.
  int fd() const { return inotify_.get(); }
  // Learns what has changed, and tells it in order: what is above comes first and goes last. A
  // cgroup that lived only between two calls may be missed. To be called every few seconds even if
  // nothing is readable: once the kernel's limit on watches was met, the tree is walked every 5 s.
  std::vector<Event> drain(uint64_t now);

 private:
  struct Known {
    std::string path;
    uint64_t removal = 0;  // which one it was; 0: it lives
  };
  CgroupTree(std::string root, Limits limits, Fd inotify)
      : root_(std::move(root)), limits_(limits), inotify_(std::move(inotify)) {}

  void walk();
  void visit(const std::string& path);
  std::vector<std::string> enter(const std::string& path);
  void handle(int watch, uint32_t mask, std::string_view name);
  void overlook();
  void add(uint64_t id, const std::string& path);
  void gone(const std::string& path);
  void remove(const std::string& path, uint64_t id);
  std::string full(const std::string& path) const { return root_ + path; }

  const std::string root_;
  const Limits limits_;
  const Fd inotify_;
  std::unordered_map<int, std::string> watches_;         // path of each
  std::map<std::string, uint64_t> paths_;                // of the living
  std::optional<std::unordered_set<std::string>> seen_;  // paths, while the tree is walked
  std::vector<Event> events_;
  bool lost_events_ = false;
  uint64_t walked_ = 0;

  mutable std::mutex mutex_;  // of what follows
  std::unordered_map<uint64_t, Known> known_;
  std::deque<std::pair<uint64_t, uint64_t>> removals_;  // id and which removal, the oldest first
  uint64_t last_removal_ = 0;
  uint64_t unwatched_ = 0;
};

}  // namespace jobscope
