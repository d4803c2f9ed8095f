// `cgroup_id_map` of a configuration: the cgroups whose path a pattern finds stand in a map of the
// program, for as long as they live.
#pragma once

#include <re2/re2.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/cgroup_tree.h"
#include "src/base/result.h"
#include "src/programs/config.h"

namespace jobscope {

// Whether one of the patterns is found in a cgroup's path, with the root in front of it
// ("/sys/fs/cgroup/system.slice", as ebpf_exporter gives it) or without ("/system.slice").
class CgroupPatterns {
 public:
  static Result<CgroupPatterns> make(const std::vector<std::string>& patterns, std::string root);
  bool match(const std::string& path) const;

 private:
  std::string root_;
  std::vector<std::unique_ptr<RE2>> patterns_;
};

// All from one thread: that which drains the tree.
class CgroupIdMap {
 public:
  // `map`: a descriptor, open for longer than this. `root`: of the tree's hierarchy. Errors: a
  // pattern that is none, a map of another type or size than the configuration says.
  static Result<CgroupIdMap> make(const CgroupIdMapConfig& config, int map, std::string root);

  // Enters what lives. From then on each result of CgroupTree::drain() has to be applied.
  void begin(const CgroupTree& tree);
  void apply(std::span<const CgroupTree::Event> events);
  // Cgroups that could not be entered, or taken out, with why the last could not ("" if none).
  uint64_t failures() const { return failures_; }
  const std::string& last_failure() const { return last_failure_; }

 private:
  CgroupIdMap(CgroupPatterns patterns, bool storage, int map, std::string root)
      : patterns_(std::move(patterns)), storage_(storage), map_(map), root_(std::move(root)) {}
  void enter(uint64_t id, const std::string& path);
  void take_out(uint64_t id, const std::string& path);
  void failed(const std::string& path);

  CgroupPatterns patterns_;
  bool storage_;
  int map_;
  std::string root_;
  uint64_t failures_ = 0;
  std::string last_failure_;
};

}  // namespace jobscope
