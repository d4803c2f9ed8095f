#include "src/cli/targets.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace jobscope {
namespace {

namespace fs = std::filesystem;

struct Process {
  uint32_t pid = 0, ppid = 0;
  std::string comm;
};

constexpr unsigned kKernelThread = 0x00200000;  // PF_KTHREAD, linux/sched.h

// All processes of /proc but ourselves, our children, and the kernel's own threads.
std::vector<Process> all_processes(const std::string& proc) {
  std::vector<Process> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(proc, error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream stat(entry.path() / "stat");
    // pid (comm) state ppid pgrp session tty tpgid flags …; comm may hold anything, newlines too
    const std::string line{std::istreambuf_iterator<char>(stat), {}};
    const size_t open = line.find('('), close = line.rfind(')');
    if (open == std::string::npos || close == std::string::npos || close < open) continue;
    Process process;
    process.pid = static_cast<uint32_t>(std::stoul(name));
    process.comm = line.substr(open + 1, close - open - 1);
    std::istringstream rest(line.substr(close + 1));
    std::string state;
    int group = 0, session = 0, terminal = 0, foreground = 0;
    unsigned flags = 0;
    rest >> state >> process.ppid >> group >> session >> terminal >> foreground >> flags;
    const bool ended = state == "Z" || state == "X" || (flags & kKernelThread) != 0;
    const auto self = static_cast<uint32_t>(::getpid());
    if (!ended && process.pid != self && process.ppid != self) found.push_back(std::move(process));
  }
  return found;
}

std::vector<uint32_t> with_descendants(const std::set<uint32_t>& roots,
                                       const std::vector<Process>& processes) {
  std::multimap<uint32_t, uint32_t> children;
  for (const Process& process : processes) children.emplace(process.ppid, process.pid);
  std::vector<uint32_t> found(roots.begin(), roots.end());
  std::set<uint32_t> seen(roots);
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [first, last] = children.equal_range(found[i]);
    for (auto at = first; at != last; ++at)
      if (seen.insert(at->second).second) found.push_back(at->second);
  }
  return found;
}

// True if one of the process's cgroup paths passes `test`.
template <class F>
bool in_cgroup(const std::string& proc, uint32_t pid, F test) {
  std::ifstream file(proc + "/" + std::to_string(pid) + "/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    const size_t colon = line.find(':', line.find(':') + 1);
    if (colon != std::string::npos && test(line.substr(colon + 1))) return true;
  }
  return false;
}

// "/sys/fs/cgroup/memory/a/b" or "a/b" → "/a/b".
std::string normal_cgroup(std::string path, const std::string& mount) {
  if (path.starts_with(mount)) {
    path.erase(0, mount.size());
    const size_t second = path.find('/', 1);
    if (!fs::exists(mount + "/cgroup.controllers"))  // v1: a folder for each controller
      path = second == std::string::npos ? "/" : path.substr(second);
  }
  if (!path.starts_with('/')) path.insert(0, "/");
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

bool is_or_below(const std::string& path, const std::string& group) {
  return path == group || group == "/" || path.starts_with(group + "/");
}

}  // namespace

Result<std::vector<uint32_t>> find_processes(const Target& target, const TargetSources& sources) {
  if (!target.pid && target.comm.empty() && target.cgroup.empty() && target.container.empty())
    return fail("the name of what to watch is empty",
                "give a process, a control group or a container");
  const std::vector<Process> processes = all_processes(sources.proc);
  std::set<uint32_t> roots;
  std::string what;
  if (target.pid) {
    what = fmt::format("process {}", target.pid);
    for (const Process& process : processes)
      if (process.pid == target.pid) roots.insert(process.pid);
  } else if (!target.comm.empty()) {
    what = fmt::format("process named '{}'", target.comm);
    for (const Process& process : processes)
      if (process.comm == target.comm.substr(0, 15)) roots.insert(process.pid);
  } else if (!target.cgroup.empty()) {
    what = fmt::format("process in the control group '{}'", target.cgroup);
    const std::string group = normal_cgroup(target.cgroup, sources.cgroups);
    for (const Process& process : processes)
      if (in_cgroup(sources.proc, process.pid,
                    [&](const std::string& path) { return is_or_below(path, group); }))
        roots.insert(process.pid);
  } else {
    what = fmt::format("process of a container '{}'", target.container);
    if (target.container.find('/') != std::string::npos)
      return fail(fmt::format("'{}' is not the id of a container", target.container),
                  "for a control group there is --cgroup");
    for (const Process& process : processes)
      if (in_cgroup(sources.proc, process.pid, [&](const std::string& path) {
            return path.find(target.container) != std::string::npos;
          }))
        roots.insert(process.pid);
  }
  if (roots.empty()) return fail(fmt::format("there is no {}", what), "see 'ps -ef'");
  return with_descendants(roots, processes);
}

std::string target_name(const Target& target, const std::vector<uint32_t>& pids,
                        const TargetSources& sources) {
  if (!target.comm.empty()) return target.comm;
  if (!target.cgroup.empty()) {
    const std::string group = normal_cgroup(target.cgroup, sources.cgroups);
    return group == "/" ? group : group.substr(group.rfind('/') + 1);
  }
  if (!target.container.empty()) return target.container.substr(0, 12);
  std::ifstream comm(sources.proc + "/" + std::to_string(pids.front()) + "/comm");
  std::string name;
  std::getline(comm, name);
  return name.empty() ? fmt::format("pid {}", target.pid) : name;
}

}  // namespace jobscope
