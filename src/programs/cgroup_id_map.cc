#include "src/programs/cgroup_id_map.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <bpf/bpf.h>

#include <algorithm>
#include <cstring>

#include "src/base/fd.h"

namespace jobscope {
namespace {

constexpr uint32_t kCgroupStorage = 32;  // BPF_MAP_TYPE_CGRP_STORAGE, Linux 6.2

}  // namespace

Result<CgroupPatterns> CgroupPatterns::make(const std::vector<std::string>& patterns,
                                            std::string root) {
  CgroupPatterns made;
  made.root_ = std::move(root);
  RE2::Options quiet;
  quiet.set_log_errors(false);
  for (const std::string& pattern : patterns) {
    made.patterns_.push_back(std::make_unique<RE2>(pattern, quiet));
    if (!made.patterns_.back()->ok())
      return fail(fmt::format("'{}' of 'cgroup_id_map' is no regular expression: {}", pattern,
                              made.patterns_.back()->error()),
                  "the syntax is that of RE2");
  }
  return made;
}

bool CgroupPatterns::match(const std::string& path) const {
  const std::string full = path == "/" ? root_ : root_ + path;
  return std::any_of(patterns_.begin(), patterns_.end(), [&](const auto& pattern) {
    return RE2::PartialMatch(full, *pattern) || RE2::PartialMatch(path, *pattern);
  });
}

Result<CgroupIdMap> CgroupIdMap::make(const CgroupIdMapConfig& config, int map, std::string root) {
  CgroupPatterns patterns = TRY(CgroupPatterns::make(config.regexps, root));
  bpf_map_info info{};
  uint32_t size = sizeof info;
  if (bpf_obj_get_info_by_fd(map, &info, &size) != 0)
    return fail_errno(fmt::format("looking at the map '{}'", config.name));
  const bool storage = info.type == kCgroupStorage;
  if (storage != config.cgroup_storage ||
      (!storage && info.type != BPF_MAP_TYPE_HASH && info.type != BPF_MAP_TYPE_LRU_HASH))
    return fail(fmt::format("the map '{}' is no {} as 'cgroup_id_map' has it", config.name,
                            config.cgroup_storage ? "storage of cgroups" : "hash"),
                "'type' is hash or cgrp_storage");
  const uint32_t key = storage ? sizeof(int) : sizeof(uint64_t);
  if (info.key_size != key || info.value_size != sizeof(uint64_t))
    return fail(fmt::format("the map '{}' of 'cgroup_id_map' has keys of {} and values of {} bytes",
                            config.name, info.key_size, info.value_size),
                fmt::format("they have to be {} and 8 bytes long", key));
  return CgroupIdMap(std::move(patterns), storage, map, std::move(root));
}

void CgroupIdMap::begin(const CgroupTree& tree) {
  for (const auto& [id, path] : tree.living()) enter(id, path);
}

void CgroupIdMap::apply(std::span<const CgroupTree::Event> events) {
  for (const CgroupTree::Event& event : events) {
    if (event.what == CgroupTree::Event::added)
      enter(event.id, event.path);
    else
      take_out(event.id, event.path);
  }
}

void CgroupIdMap::enter(uint64_t id, const std::string& path) {
  if (!patterns_.match(path)) return;
  const uint64_t value = 1;
  if (!storage_) {
    if (bpf_map_update_elem(map_, &id, &value, BPF_ANY) != 0) failed(path);
    return;
  }
  const Fd fd(::open((root_ + path).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) {
    if (errno != ENOENT) failed(path);  // else it is gone, and that will be told
    return;
  }
  const int key = fd.get();
  if (info.st_ino == id && bpf_map_update_elem(map_, &key, &value, BPF_ANY) != 0) failed(path);
}

void CgroupIdMap::take_out(uint64_t id, const std::string& path) {
  if (storage_ || !patterns_.match(path)) return;  // a cgroup's storage goes with it
  if (bpf_map_delete_elem(map_, &id) != 0 && errno != ENOENT) failed(path);
}

void CgroupIdMap::failed(const std::string& path) {
  ++failures_;
  last_failure_ = fmt::format("{}: {}", path, std::strerror(errno));
}

}  // namespace jobscope
