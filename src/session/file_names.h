// Paths of files by device and inode, as the kernel side told them when it met each file.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpf/thread.h"
#include "src/base/paths.h"

namespace jobscope {

// A file as the kernel side tells it. `generation` keeps apart files that had one inode number, one
// after the other.
struct FileId {
  uint64_t inode = 0;
  uint32_t device = 0, generation = 0;
  auto operator<=>(const FileId&) const = default;
};
inline FileId file_of(const file_key& key) { return {key.inode, key.device, key.generation}; }
// Of a wait for a file; inode 0: it is not known which.
inline FileId file_of(const wait_key& key) {
  return {key.id[0], static_cast<uint32_t>(key.id[1]), static_cast<uint32_t>(key.id[1] >> 32)};
}

class FileNames {
 public:
  FileNames() = default;
  // `mounts`: a file like /proc/self/mountinfo.
  explicit FileNames(std::string mounts) : mounts_(std::move(mounts)) {}
  // Takes an EVENT_FILE_NAME record.
  void add(const file_name_head& head, std::string_view names);
  // "/data/train.bin"; "…/a/b" if only its end is known; "" if nothing is.
  std::string path(const FileId& file) const;
  // "vda": name of a block device by its number in the kernel's form (major << 20 | minor);
  // "254:0" if it has none.
  static std::string device_name(uint32_t device);

  // A part of a file system, and where it is seen: "" for "/".
  struct Mount {
    std::string root, point;
  };

 private:
  std::string in_mounts(uint32_t device, const std::string& path);

  struct Hash {
    size_t operator()(const FileId& file) const {
      return (file.inode ^ file.generation) * 0x9E3779B97F4A7C15ull ^ file.device;
    }
  };
  std::string mounts_ = "/proc/self/mountinfo";
  std::unordered_map<uint32_t, std::vector<Mount>> mounts_of_;  // as of when a device was new
  std::unordered_map<FileId, std::string, Hash> paths_;
};

}  // namespace jobscope
