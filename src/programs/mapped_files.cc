#include "src/programs/mapped_files.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace jobscope {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kFirstDelay = 2 * kSecond, kLongestDelay = 300 * kSecond;
constexpr size_t kMostFiles = 64;  // of one pattern

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

void MappedFiles::consider(const std::string& path, const std::string& name,
                           std::vector<Found>& found) {
  for (const std::string& pattern : wanted_) {
    if (::fnmatch(pattern.c_str(), name.c_str(), FNM_PATHNAME) != 0) continue;
    struct stat what {};
    if (::stat(path.c_str(), &what) != 0 || !S_ISREG(what.st_mode)) continue;
    std::set<File>& files = files_[pattern];
    if (files.size() >= kMostFiles || files.contains({what.st_dev, what.st_ino})) continue;
    // Whoever maps it may put something else in its place meanwhile, such as a pipe.
    Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file || ::fstat(file.get(), &what) != 0 || !S_ISREG(what.st_mode)) continue;
    if (files.emplace(what.st_dev, what.st_ino).second)
      found.push_back({pattern, path, std::move(file)});
  }
}

void MappedFiles::look_in_folders(std::vector<Found>& found) {
  constexpr std::array kFolders = {"/usr/lib/*-linux-gnu/", "/usr/lib64/", "/usr/lib/",
                                   "/usr/local/lib/"};
  for (const std::string& pattern : wanted_) {
    for (const char* folder : kFolders) {
      glob_t paths{};
      if (::glob((folder + pattern).c_str(), GLOB_NOSORT, nullptr, &paths) == 0)
        for (size_t i = 0; i < paths.gl_pathc; ++i)
          consider(paths.gl_pathv[i], std::string(last_part(paths.gl_pathv[i])), found);
      ::globfree(&paths);
    }
  }
}

// Lines of maps: "start-end perms offset device inode   path".
void MappedFiles::look_at(const std::string& pid, std::vector<Found>& found) {
  const std::string root = proc_ + "/" + pid;
  std::ifstream maps(root + "/maps");
  std::string before;
  for (std::string line; std::getline(maps, line);) {
    const size_t slash = line.find('/');
    if (slash == std::string::npos || line.ends_with(" (deleted)")) continue;
    std::string path = line.substr(slash);
    if (path == before) continue;  // the next part of the same file
    std::string seen_from_there = root;
    seen_from_there.append("/root").append(path);
    consider(seen_from_there, std::string(last_part(path)), found);
    before = std::move(path);
  }
}

std::vector<MappedFiles::Found> MappedFiles::look(uint64_t now) {
  std::vector<Found> found;
  if (wanted_.empty()) return found;
  look_in_folders(found);
  for (auto& [pid, process] : processes_) process.seen = false;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(proc_, error)) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    Process& process = processes_[pid];
    process.seen = true;
    if (now < process.next) continue;
    process.delay = std::clamp(2 * process.delay, kFirstDelay, kLongestDelay);
    process.next = now + process.delay;
    look_at(pid, found);
  }
  std::erase_if(processes_, [](const auto& process) { return !process.second.seen; });
  return found;
}

}  // namespace jobscope
