#include "src/base/paths.h"

#include <vector>

namespace jobscope {

std::string join_reversed(std::string_view names) {
  std::vector<std::string_view> parts;
  while (!names.empty()) {
    const size_t end = names.find('\0');
    const std::string_view part = names.substr(0, end);
    if (!part.empty()) parts.push_back(part);
    if (end == std::string_view::npos) break;
    names.remove_prefix(end + 1);
  }
  std::string path;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    path += '/';
    path += *part;
  }
  return path;
}

}  // namespace jobscope
