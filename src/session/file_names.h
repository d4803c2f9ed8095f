// Paths of files by device and inode, as the kernel side told them when it met each file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "bpf/thread.h"

namespace jobscope {

class FileNames {
 public:
  FileNames() = default;
  // `mounts`: a file like /proc/self/mountinfo.
  explicit FileNames(std::string mounts) : mounts_(std::move(mounts)) {}
  // Takes an EVENT_FILE_NAME record.
  void add(const file_name_head& head, std::string_view names);
  // "/data/train.bin"; "…/a/b" if only its end is known; "" if nothing is.
  std::string path(uint64_t inode, uint32_t device) const;
  // "vda": name of a block device by its number in the kernel's form (major << 20 | minor);
  // "254:0" if it has none.
  static std::string device_name(uint32_t device);

 private:
  struct Id {
    uint64_t inode;
    uint32_t device;
    bool operator==(const Id&) const = default;
  };
  struct IdHash {
    size_t operator()(const Id& id) const { return id.inode * 0x9E3779B97F4A7C15ull ^ id.device; }
  };
  std::string mounts_ = "/proc/self/mountinfo";
  std::unordered_map<Id, std::string, IdHash> paths_;
};

// Joins components that come last first, each ending in NUL: "c\0b\0a\0" → "/a/b/c".
std::string join_reversed(std::string_view names);

}  // namespace jobscope
