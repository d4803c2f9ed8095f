// Names of users, from a file like /etc/passwd. Directory services are not asked: they may block.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <sys/stat.h>

namespace jobscope {

class UserNames {
 public:
  explicit UserNames(std::string file) : file_(std::move(file)) {}
  // "alice", or "1000" if the file has no such user. Reads the file again once it has changed.
  std::string name(uint32_t uid);

 private:
  void read();
  std::string file_;
  struct stat seen_ {};
  std::map<uint32_t, std::string> names_;
};

}  // namespace jobscope
