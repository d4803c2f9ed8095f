#include "src/base/memory.h"

#include <cstdlib>
#include <fstream>

namespace jobscope {

std::optional<uint64_t> peak_rss(uint32_t pid, const std::string& proc) {
  std::ifstream status(proc + "/" + std::to_string(pid) + "/status");
  std::string line;
  while (std::getline(status, line))
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
  return std::nullopt;
}

}  // namespace jobscope
