#include "src/session/file_names.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "src/base/block_devices.h"

namespace jobscope {
namespace {

// Octal escapes of mountinfo: "my\040data" → "my data".
std::string unescape(std::string text) {
  for (size_t at = 0; (at = text.find('\\', at)) != std::string::npos; ++at)
    if (at + 3 < text.size()) {
      const long code = std::strtol(text.substr(at + 1, 3).c_str(), nullptr, 8);
      text.replace(at, 4, 1, static_cast<char>(code));
    }
  return text;
}

// All mounts of /proc/self/mountinfo, by device.
std::unordered_map<uint32_t, std::vector<FileNames::Mount>> read_mounts(const std::string& file) {
  std::unordered_map<uint32_t, std::vector<FileNames::Mount>> mounts;
  std::ifstream lines(file);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string id, parent, numbers, root, point;
    fields >> id >> parent >> numbers >> root >> point;
    unsigned major = 0, minor = 0;
    if (std::sscanf(numbers.c_str(), "%u:%u", &major, &minor) != 2) continue;
    const auto ends_in_name = [](const std::string& path) {
      return path == "/" ? "" : unescape(path);
    };
    mounts[major << 20 | minor].push_back({ends_in_name(root), ends_in_name(point)});
  }
  return mounts;
}

bool is_below(std::string_view path, std::string_view root) {
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

}  // namespace

void FileNames::add(const file_name_head& head, std::string_view names) {
  std::string path = join_reversed(names);
  if (head.partial && path.empty()) return;
  if (head.partial)
    path = "…" + path;
  else if (head.in_file_system)
    path = in_mounts(head.key.device, path);
  if (!path.empty()) paths_[file_of(head.key)] = std::move(path);
}

// The mount that shows most of the path; one that shows it whole, if there is one. A device that is
// not mounted here, but in the job's own namespace, has only the end of a path.
std::string FileNames::in_mounts(uint32_t device, const std::string& path) {
  auto found = mounts_of_.find(device);
  if (found == mounts_of_.end()) {
    auto now = read_mounts(mounts_);
    now.try_emplace(device);
    mounts_of_ = std::move(now);
    found = mounts_of_.find(device);
  }
  const Mount* best = nullptr;
  for (const Mount& mount : found->second)
    if (is_below(path, mount.root) && (!best || mount.root.size() < best->root.size()))
      best = &mount;
  return best ? best->point + path.substr(best->root.size()) : "…" + path;
}

std::string FileNames::path(const FileId& file) const {
  const auto found = paths_.find(file);
  return found == paths_.end() ? std::string() : found->second;
}

std::string FileNames::device_name(uint32_t device) { return block_device_name(device); }

}  // namespace jobscope
