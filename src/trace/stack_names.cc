#include "src/trace/stack_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include "src/bpf/symbols.h"

namespace jobscope {
namespace {

constexpr size_t kMostProcesses = 64, kMostFiles = 64;

// Beginnings of names of what leads from every wait to the scheduler, and from user space to every
// system call.
constexpr std::array<std::string_view, 16> kDull = {"__schedule",
                                                    "schedule",
                                                    "preempt_schedule",
                                                    "__cond_resched",
                                                    "io_schedule",
                                                    "do_syscall_64",
                                                    "entry_SYSCALL_64",
                                                    "x64_sys_call",
                                                    "__traceiter_",
                                                    "bpf_",
                                                    "__bpf_",
                                                    "el0",
                                                    "invoke_syscall",
                                                    "do_el0",
                                                    "asm_",
                                                    "__x64_sys_"};

bool is_dull(std::string_view name) {
  return std::ranges::any_of(kDull, [&](std::string_view dull) { return name.starts_with(dull); });
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

KernelSymbols KernelSymbols::read(const std::string& path) {
  KernelSymbols symbols;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    char* rest = nullptr;
    const uint64_t address = std::strtoull(line.c_str(), &rest, 16);
    if (!address || !rest || rest[0] != ' ' ||
        std::string_view("tTwW").find(rest[1]) == std::string_view::npos || rest[2] != ' ')
      continue;
    std::string name(rest + 3);
    name.erase(std::min(name.find_first_of("\t "), name.size()));
    symbols.functions_.emplace_back(address, std::move(name));
  }
  std::ranges::sort(symbols.functions_);
  return symbols;
}

std::string KernelSymbols::name(uint64_t address) const {
  const auto after =
      std::ranges::upper_bound(functions_, address, {}, [](const auto& f) { return f.first; });
  return after == functions_.begin() ? std::string() : std::prev(after)->second;
}

std::string kernel_line(const KernelSymbols& symbols, std::span<const uint64_t> frames,
                        size_t most) {
  std::string line;
  size_t count = 0;
  for (const uint64_t frame : frames) {
    const std::string name = symbols.name(frame);
    if (name.empty() || is_dull(name) || count >= most) continue;
    line += (line.empty() ? "" : " < ") + name;
    count += 1;
  }
  return line;
}

const std::vector<ProcessMaps::Area>& ProcessMaps::areas(uint32_t pid, bool again) {
  const auto known = areas_.find(pid);
  if (known != areas_.end() && !again) return known->second;
  if (areas_.size() >= kMostProcesses) areas_.clear();
  std::vector<Area> now;
  std::ifstream file(fmt::format("{}/{}/maps", proc_, pid));
  for (std::string line; std::getline(file, line);) {
    Area area{};
    unsigned long start = 0, end = 0, offset = 0;
    int path = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx %*s %*s %n", &start, &end, &offset, &path) < 3)
      continue;
    area.start = start;
    area.end = end;
    area.offset = offset;
    if (path && static_cast<size_t>(path) < line.size()) area.path = line.substr(path);
    now.push_back(std::move(area));
  }
  // One that is gone keeps what was known of it.
  if (now.empty() && known != areas_.end()) return known->second;
  return areas_[pid] = std::move(now);
}

std::optional<ProcessMaps::Place> ProcessMaps::at(uint32_t pid, uint64_t address) {
  for (const bool again : {false, true})
    for (const Area& area : areas(pid, again))
      if (address >= area.start && address < area.end)
        return Place{area.path, address - area.start + area.offset, area.start - area.offset};
  return std::nullopt;
}

const ElfFunctions* ProcessMaps::functions(uint32_t pid, const std::string& path) {
  const auto known = functions_.find(path);
  if (known != functions_.end()) return known->second ? &*known->second : nullptr;
  if (functions_.size() >= kMostFiles) functions_.clear();
  auto read = ElfFunctions::read(fmt::format("{}/{}/root{}", proc_, pid, path));
  auto& kept = functions_[path];
  if (read) kept = std::move(*read);
  return kept ? &*kept : nullptr;
}

std::string ProcessMaps::frame(uint32_t pid, uint64_t address) {
  const auto place = at(pid, address);
  if (!place || place->path.empty()) return fmt::format("{:#x}", address);
  const std::string file = last_part(place->path);
  if (!place->path.starts_with('/')) return fmt::format("({})", file);
  const ElfFunctions* known = functions(pid, place->path);
  const ElfFunction* function = known ? known->at(place->offset) : nullptr;
  if (!function) return fmt::format("({}+{:#x})", file, place->offset);
  return fmt::format("{}+{:#x} ({})", function->name, place->offset - function->offset, file);
}

bool ProcessMaps::is_python_runtime(uint32_t pid, uint64_t address) {
  auto place = at(pid, address);
  // The end of its data has no file behind it: look at what lies before.
  if (place && place->path.empty()) {
    const Area* before = nullptr;
    for (const Area& area : areas(pid, false))
      if (area.end <= address && area.path.starts_with('/')) before = &area;
    if (before) place = Place{before->path, 0, before->start - before->offset};
  }
  if (!place || last_part(place->path).find("python") == std::string::npos) return false;
  const auto known = runtimes_.find(place->path);
  std::pair<uint64_t, uint64_t> runtime;
  if (known != runtimes_.end()) {
    runtime = known->second;
  } else {
    const auto symbol =
        find_symbol(fmt::format("{}/{}/root{}", proc_, pid, place->path), "_PyRuntime");
    if (symbol) runtime = {symbol->address, symbol->address + symbol->size};
    runtimes_[place->path] = runtime;
  }
  // Of the file's first mapping: segments lie as far apart in memory as their addresses say.
  for (const Area& area : areas(pid, false))
    if (area.path == place->path && area.offset == 0)
      return address - area.start >= runtime.first && address - area.start < runtime.second;
  return false;
}

}  // namespace jobscope
