#include "src/bpf/shared_maps.h"

#include <fcntl.h>
#include <bpf/bpf.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <string_view>

#include "src/bpf/kernel.h"

namespace jobscope {
namespace {

constexpr std::array<std::string_view, 9> kShared = {"threads", "process_hints",   "events",
                                                     "losses",  "session_globals", "costs",
                                                     "files",   "waits",           "waits_now"};

bool is_shared(std::string_view name) {
  for (const std::string_view shared : kShared)
    if (name == shared) return true;
  return false;
}

// Instead of storage on tasks: a hash by thread or process id.
void make_hash(bpf_map* map) {
  bpf_map__set_type(map, BPF_MAP_TYPE_HASH);
  bpf_map__set_map_flags(map, 0);
  bpf_map__set_max_entries(map, kMostTasks);
}

}  // namespace

void SharedMaps::own(const std::string& name, Fd map) { maps_[name] = std::move(map); }

Result<> SharedMaps::give(bpf_object* object) const {
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object) {
    const auto found = maps_.find(bpf_map__name(map));
    if (found == maps_.end()) {
      if (bpf_map__type(map) == BPF_MAP_TYPE_TASK_STORAGE && !has_task_storage()) make_hash(map);
      continue;
    }
    if (const int error = bpf_map__reuse_fd(map, found->second.get()))
      return fail_errno(std::string("sharing the BPF map ") + bpf_map__name(map), -error);
  }
  return {};
}

Result<> SharedMaps::keep(bpf_object* object) {
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object) {
    const std::string name = bpf_map__name(map);
    if (!is_shared(name) || maps_.contains(name) || bpf_map__fd(map) < 0) continue;
    Fd copy(fcntl(bpf_map__fd(map), F_DUPFD_CLOEXEC, 3));
    if (!copy) return fail_errno("keeping the BPF map " + name);
    maps_.emplace(name, std::move(copy));
    types_.emplace(name, Fd(fcntl(bpf_object__btf_fd(object), F_DUPFD_CLOEXEC, 3)));
  }
  return {};
}

int SharedMaps::fd(const std::string& name) const {
  const auto found = maps_.find(name);
  return found == maps_.end() ? -1 : found->second.get();
}

int SharedMaps::types(const std::string& name) const {
  const auto found = types_.find(name);
  return found == types_.end() ? -1 : found->second.get();
}

uint64_t SharedMaps::bytes() const {
  uint64_t sum = 0;
  for (const auto& [name, fd] : maps_) sum += map_bytes(fd.get());
  return sum;
}

uint64_t map_bytes(int fd) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(fd));
  std::string line;
  while (std::getline(info, line))
    if (line.starts_with("memlock:")) return std::strtoull(line.c_str() + 8, nullptr, 10);
  return 0;
}

void add_missed_runs(const bpf_object* object, std::map<std::string, uint64_t>& to) {
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    bpf_prog_info info{};  // recursion_misses since 5.12, 9ed9e9ba2337
    uint32_t size = sizeof(info);
    const int fd = bpf_program__fd(program);
    if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && info.recursion_misses)
      to[bpf_program__name(program)] += info.recursion_misses;
  }
}

uint64_t private_map_bytes(const bpf_object* object, const SharedMaps& shared) {
  uint64_t sum = 0;
  const bpf_map* map = nullptr;
  bpf_object__for_each_map(
      map, object) if (shared.fd(bpf_map__name(map)) < 0 && bpf_map__fd(map) >= 0) sum +=
      map_bytes(bpf_map__fd(map));
  return sum;
}

}  // namespace jobscope
