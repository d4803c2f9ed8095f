#include "src/session/process_names.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <bpf/bpf.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "src/base/fd.h"
#include "src/bpf/kernel.h"

namespace jobscope {
namespace {

// When to look at a process's memory after its exec: libraries come in its first moments, and then
// now and then. ns.
constexpr std::array<uint64_t, 7> kLooks = {20'000'000,    80'000'000,    300'000'000,
                                            1'000'000'000, 4'000'000'000, 15'000'000'000,
                                            60'000'000'000};
constexpr size_t kMaxProcesses = 65536;
constexpr size_t kMaxRemembered = 2048;
constexpr size_t kMaxOwners = 16384;
constexpr size_t kMaxRuntimes = 256;
constexpr size_t kMaxChildNames = 256;

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_openmp(std::string_view file) {
  return file.starts_with("libgomp") || file.starts_with("libomp") || file.starts_with("libiomp5");
}

bool may_be_python(std::string_view file) {
  return file.starts_with("python") || file.starts_with("libpython");
}

// Where the mappings of one file begin in memory, less their offset in it.
uint64_t load_bias(const std::vector<Mapping>& mappings, const std::string& path) {
  for (const Mapping& m : mappings)
    if (m.path == path) return m.start - m.offset;
  return 0;
}

std::optional<FileVersion> version_of(const std::string& path) {
  struct stat what {};
  if (::stat(path.c_str(), &what) != 0) return std::nullopt;
  return FileVersion{what.st_dev, what.st_ino, what.st_mtim.tv_sec, what.st_mtim.tv_nsec};
}

}  // namespace

// _PyRuntime of a file; looked for once in each, for there are as many symbols as a library has.
std::optional<Symbol> ProcessNames::python_runtime(const std::string& path) {
  const auto version = version_of(path);
  if (!version) return std::nullopt;
  const auto found = runtimes_.find(*version);
  if (found != runtimes_.end()) return found->second;
  if (runtimes_.size() >= kMaxRuntimes) runtimes_.clear();
  return runtimes_[*version] = find_symbol(path, "_PyRuntime");
}

hints ProcessNames::find_hints(uint32_t pid, const std::vector<Mapping>& mappings) {
  hints h{};
  size_t runtimes = 0;
  std::string last;
  for (const Mapping& m : mappings) {
    const std::string_view file = base_name(m.path);
    if (m.executable && is_openmp(file) && runtimes < std::size(h.omp_start)) {
      h.omp_start[runtimes] = m.start;
      h.omp_end[runtimes] = m.end;
      ++runtimes;
    }
    if (!h.gil_end && m.path != last && may_be_python(file)) {
      last = m.path;
      const std::string real = "/proc/" + std::to_string(pid) + "/root" + m.path;
      if (const auto symbol = python_runtime(real)) {
        h.gil_start = load_bias(mappings, m.path) + symbol->address;
        h.gil_end = h.gil_start + symbol->size;
      }
    }
  }
  return h;
}

std::vector<Mapping> parse_maps(const std::string& text) {
  std::vector<Mapping> mappings;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    Mapping m;
    unsigned long start = 0, end = 0, offset = 0;
    char mode[5] = {};
    int path = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx %*x:%*x %*u %n", &start, &end, mode, &offset,
                    &path) < 4)
      continue;
    m.start = start;
    m.end = end;
    m.offset = offset;
    m.executable = mode[2] == 'x';
    if (path > 0 && static_cast<size_t>(path) < line.size()) m.path = line.substr(path);
    mappings.push_back(std::move(m));
  }
  return mappings;
}

ProcessNames::Process& ProcessNames::get(ProcessId id) {
  const auto found = processes_.find(id);
  if (found != processes_.end()) return found->second;
  if (processes_.size() >= kMaxProcesses) {  // forget those that are gone
    std::erase_if(processes_, [](const auto& entry) { return entry.second.ended; });
    std::erase_if(children_, [&](const auto& entry) { return !processes_.contains(entry.first); });
  }
  return processes_[id];
}

void ProcessNames::seen(ProcessId id, const std::string& name) {
  Process& process = get(id);
  if (!name.empty()) process.name = name;
}

void ProcessNames::exec(ProcessId id, uint64_t now) {
  Process& process = get(id);
  process.memory.clear();
  process.looks = 0;
  look_next(id, process, now + kLooks[0]);
}

// 0: not again.
void ProcessNames::look_next(ProcessId id, Process& process, uint64_t when) {
  if (process.next_look) due_.erase({process.next_look, id});
  process.next_look = when;
  if (when) due_.insert({when, id});
}

void ProcessNames::ended(ProcessId id) {
  const auto found = processes_.find(id);
  if (found == processes_.end()) return;
  Process& process = found->second;
  look_next(id, process, 0);
  if (process.ended) return;
  process.ended = true;
  if (process.memory.empty()) return;
  remembered_.push_back(id);
  if (remembered_.size() <= kMaxRemembered) return;
  const auto oldest = processes_.find(remembered_.front());
  if (oldest != processes_.end()) oldest->second.memory = {};
  remembered_.pop_front();
}

void ProcessNames::look(uint64_t now, int hints_map) {
  while (!due_.empty() && due_.begin()->first <= now) {
    const ProcessId id = due_.begin()->second;
    Process& process = processes_.at(id);
    look_at(id, process, hints_map);
    process.looks = std::min<uint32_t>(process.looks + 1, kLooks.size() - 1);
    look_next(id, process, now + kLooks[process.looks]);
  }
}

void ProcessNames::look_at(ProcessId id, Process& process, int hints_map) {
  const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, id.pid, 0)));
  if (!pidfd) return;
  std::ifstream file("/proc/" + std::to_string(id.pid) + "/maps");
  std::ostringstream text;
  text << file.rdbuf();
  const std::vector<Mapping> mappings = parse_maps(text.str());
  if (mappings.empty()) return;
  process.memory = regions_of(mappings);
  const hints h = find_hints(id.pid, mappings);
  // The key of storage on tasks is a descriptor of the process, else it is its id.
  const int key = has_task_storage() ? pidfd.get() : static_cast<int>(id.pid);
  if ((h.gil_end || h.omp_end[0]) && hints_map >= 0)
    bpf_map_update_elem(hints_map, &key, &h, BPF_ANY);
}

std::string ProcessNames::name(ProcessId id) const {
  const auto found = processes_.find(id);
  return found == processes_.end() ? std::string() : found->second.name;
}

const std::string* ProcessNames::intern(const std::string& owner) {
  const bool full = owners_.size() >= kMaxOwners && !owners_.contains(owner);
  return &*owners_.insert(full ? "a mapped file" : owner).first;
}

// A library has a mapping for each of its segments: one region.
std::vector<ProcessNames::Region> ProcessNames::regions_of(const std::vector<Mapping>& mappings) {
  std::vector<Region> regions;
  for (const Mapping& m : mappings) {
    const std::string* owner = intern(owner_of(mappings, m.start));
    if (!regions.empty() && regions.back().end == m.start && regions.back().owner == owner)
      regions.back().end = m.end;
    else
      regions.push_back({m.start, m.end, owner});
  }
  regions.shrink_to_fit();
  return regions;
}

ProcessNames::Processes::const_iterator ProcessNames::newest(uint32_t pid) const {
  const auto after = processes_.lower_bound({pid + 1, 0});
  if (after == processes_.begin() || std::prev(after)->first.pid != pid) return processes_.end();
  return std::prev(after);
}

std::string ProcessNames::name_by_pid(uint32_t pid) const {
  const auto found = newest(pid);
  return found == processes_.end() ? std::string() : found->second.name;
}

void ProcessNames::child(uint32_t parent, const std::string& name, uint64_t lifetime) {
  const auto found = newest(parent);
  if (found == processes_.end()) return;
  auto& names = children_[found->first];
  if (names.size() >= kMaxChildNames && !names.contains(name)) return;
  Children& children = names[name];
  children.count += 1;
  children.lifetime += lifetime;
}

std::string ProcessNames::children(ProcessId parent) const {
  const auto found = children_.find(parent);
  if (found == children_.end()) return {};
  const auto& names = found->second;
  const auto top = std::max_element(names.begin(), names.end(), [](const auto& a, const auto& b) {
    return a.second.lifetime < b.second.lifetime;
  });
  if (top == names.end()) return {};
  const uint64_t count = top->second.count;
  return count == 1 ? top->first : top->first + " ×" + std::to_string(count);
}

std::string ProcessNames::owner(ProcessId id, uint64_t address) const {
  const auto found = processes_.find(id);
  if (found == processes_.end()) return {};
  const auto& memory = found->second.memory;
  const auto after = std::upper_bound(memory.begin(), memory.end(), address,
                                      [](uint64_t a, const Region& r) { return a < r.start; });
  if (after == memory.begin() || address >= std::prev(after)->end) return {};
  return *std::prev(after)->owner;
}

std::string owner_of(const std::vector<Mapping>& mappings, uint64_t address) {
  auto after = std::upper_bound(mappings.begin(), mappings.end(), address,
                                [](uint64_t a, const Mapping& m) { return a < m.start; });
  if (after == mappings.begin()) return {};
  const auto here = std::prev(after);
  if (address >= here->end) return {};
  // .bss follows a library's data as anonymous memory.
  if (here->path.empty() && here != mappings.begin()) {
    const auto before = std::prev(here);
    if (before->end == here->start && before->path.find(".so") != std::string::npos)
      return std::string(base_name(before->path));
  }
  if (here->path.empty()) return "anonymous memory";
  if (here->path == "[heap]") return "heap";
  // Data loaders pass each batch in a nameless file of its own.
  if (here->path.starts_with("/dev/shm/") && here->path.ends_with(" (deleted)"))
    return "shared memory";
  if (here->path.starts_with("[stack")) return "stack";
  return std::string(base_name(here->path));
}

}  // namespace jobscope
