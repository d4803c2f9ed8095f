#include "src/jobs/user_names.h"

#include <charconv>
#include <fstream>

namespace jobscope {

std::string UserNames::name(uint32_t uid) {
  struct stat now {};
  if (::stat(file_.c_str(), &now) == 0 &&
      (now.st_ino != seen_.st_ino || now.st_size != seen_.st_size ||
       now.st_mtim.tv_sec != seen_.st_mtim.tv_sec ||
       now.st_mtim.tv_nsec != seen_.st_mtim.tv_nsec)) {
    seen_ = now;
    read();
  }
  const auto found = names_.find(uid);
  return found == names_.end() ? std::to_string(uid) : found->second;
}

// "alice:x:1000:…"; the first of several names of a user holds.
void UserNames::read() {
  names_.clear();
  std::ifstream file(file_);
  for (std::string line; std::getline(file, line);) {
    const size_t name = line.find(':');
    const size_t password = name == std::string::npos ? name : line.find(':', name + 1);
    if (password == std::string::npos || name == 0) continue;
    uint32_t uid = 0;
    const char* digits = line.data() + password + 1;
    const auto [end, error] = std::from_chars(digits, line.data() + line.size(), uid);
    if (error == std::errc() && end != line.data() + line.size() && *end == ':')
      names_.emplace(uid, line.substr(0, name));
  }
}

}  // namespace jobscope
