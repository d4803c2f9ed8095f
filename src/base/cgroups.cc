#include "src/base/cgroups.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <sys/stat.h>

namespace jobscope {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDirectories = 50'000;

struct Hierarchies {
  fs::path cpu, memory, unified;  // mount points, empty if not mounted
};

Hierarchies find_hierarchies(const CgroupSources& sources) {
  Hierarchies found;
  std::ifstream mounts(sources.proc + "/self/mounts");
  std::string line;
  while (std::getline(mounts, line)) {
    std::istringstream fields(line);
    std::string device, point, type, options;
    fields >> device >> point >> type >> options;
    point.insert(0, sources.root);
    if (type == "cgroup2" && found.unified.empty()) found.unified = point;
    if (type != "cgroup") continue;
    std::istringstream list(options);
    for (std::string option; std::getline(list, option, ',');) {
      if (option == "cpu") found.cpu = point;
      if (option == "memory") found.memory = point;
    }
  }
  return found;
}

// The process's path in the hierarchy with `controller` ("" for the unified one).
std::optional<std::string> path_in(const CgroupSources& sources, uint32_t pid,
                                   const std::string& controller) {
  std::ifstream file(sources.proc + "/" + std::to_string(pid) + "/cgroup");
  std::string line;
  while (std::getline(file, line)) {  // "4:cpu,cpuacct:/path"
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::istringstream list(controllers);
    bool here = controller.empty() && controllers.empty();
    for (std::string one; std::getline(list, one, ',');) here = here || one == controller;
    if (here) return line.substr(second + 1);
  }
  return std::nullopt;
}

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// Value of "KEY number" in a flat keyed file.
std::optional<uint64_t> keyed(const fs::path& file, const std::string& key) {
  std::ifstream in(file);
  std::string name;
  uint64_t value = 0;
  while (in >> name >> value)
    if (name == key) return value;
  return std::nullopt;
}

std::optional<uint64_t> number(const std::string& text) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;  // "max", "-1"
  return std::strtoull(text.c_str(), nullptr, 10);
}

template <class T>
void least(std::optional<T>& value, std::optional<T> other) {
  if (other && (!value || *other < *value)) value = other;
}

std::optional<double> cpu_limit_v1(const fs::path& group) {
  const auto quota = number(first_line(group / "cpu.cfs_quota_us"));
  const auto period = number(first_line(group / "cpu.cfs_period_us"));
  if (!quota || !period || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<double> cpu_limit_v2(const fs::path& group) {
  std::istringstream fields(first_line(group / "cpu.max"));
  std::string quota;
  uint64_t period = 0;
  fields >> quota >> period;
  const auto value = number(quota);
  if (!value || period == 0) return std::nullopt;
  return static_cast<double>(*value) / static_cast<double>(period);
}

// Calls f for the group's directory and each one above it, up to the mount point.
template <class F>
void upwards(const fs::path& mount, const std::string& path, F f) {
  fs::path group = mount;
  if (path != "/") group /= fs::path(path).relative_path();  // an empty one would add a "/"
  for (;;) {
    f(group);
    if (group == mount || !group.has_relative_path() ||
        group.string().size() < mount.string().size())
      return;
    group = group.parent_path();
  }
}

void add_throttled(CgroupLedger& ledger, std::optional<uint64_t> ns) {
  if (ns) ledger.throttled_ns = ledger.throttled_ns.value_or(0) + *ns;
}

}  // namespace

std::string memory_cgroup_path(uint64_t id, const CgroupSources& sources) {
  const Hierarchies mounts = find_hierarchies(sources);
  const fs::path root = mounts.memory.empty() ? mounts.unified : mounts.memory;
  if (root.empty()) return {};
  struct stat info {};
  if (::stat(root.c_str(), &info) == 0 && info.st_ino == id) return "/";  // of a container
  std::error_code error;
  int left = kMaxDirectories;
  for (fs::recursive_directory_iterator at(root, fs::directory_options::skip_permission_denied,
                                           error);
       !error && at != fs::recursive_directory_iterator() && left > 0; at.increment(error)) {
    if (!at->is_directory(error)) continue;
    --left;
    if (::stat(at->path().c_str(), &info) == 0 && info.st_ino == id)
      return "/" + at->path().lexically_relative(root).string();
  }
  return {};
}

std::string CgroupPlace::path() const {
  if (unified && *unified != "/") return *unified;
  return cpu.value_or(unified.value_or(memory.value_or("")));
}

std::optional<CgroupPlace> cgroup_of(uint32_t pid, const CgroupSources& sources) {
  const Hierarchies mounts = find_hierarchies(sources);
  CgroupPlace place;
  if (!mounts.unified.empty()) place.unified = path_in(sources, pid, "");
  if (!mounts.cpu.empty()) place.cpu = path_in(sources, pid, "cpu");
  if (!mounts.memory.empty()) place.memory = path_in(sources, pid, "memory");
  if (!place.unified && !place.cpu && !place.memory) return std::nullopt;
  return place;
}

CgroupLedger read_cgroup(const CgroupPlace& place, const CgroupSources& sources) {
  const Hierarchies mounts = find_hierarchies(sources);
  CgroupLedger ledger;
  if (place.unified) {
    upwards(mounts.unified, *place.unified, [&](const fs::path& group) {
      least(ledger.memory_limit, number(first_line(group / "memory.max")));
      const auto limit = cpu_limit_v2(group);
      if (!limit) return;
      least(ledger.cpu_limit, limit);
      if (const auto us = keyed(group / "cpu.stat", "throttled_usec"))
        add_throttled(ledger, *us * 1000);
    });
  }
  if (place.cpu) {
    upwards(mounts.cpu, *place.cpu, [&](const fs::path& group) {
      const auto limit = cpu_limit_v1(group);
      if (!limit) return;
      least(ledger.cpu_limit, limit);
      add_throttled(ledger, keyed(group / "cpu.stat", "throttled_time"));
    });
  }
  if (place.memory) {
    constexpr uint64_t kUnlimited = 1ull << 62;  // v1 writes a huge number for "none"
    upwards(mounts.memory, *place.memory, [&](const fs::path& group) {
      const auto limit = number(first_line(group / "memory.limit_in_bytes"));
      if (limit && *limit < kUnlimited) least(ledger.memory_limit, limit);
    });
  }
  return ledger;
}

}  // namespace jobscope
