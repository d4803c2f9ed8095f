// A tree like /proc, made by a test in a folder of its own.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "src/base/folder_for_test.h"

namespace jobscope {

struct FixtureProcess {
  uint32_t pid = 0, parent = 1;
  std::vector<std::string> argv;
  std::vector<std::string> environment = {};
  std::string cgroup = "0::/\n";
  std::string maps = {};
  uint32_t uid = 1000;
  uint32_t session = 1;
  uint64_t start = 100;
  uint64_t stack = 4096;
  std::string comm = "name";
  uint32_t of = 0;  // a thread of this process
  unsigned flags = 0;
};

class FixtureProcesses {
 public:
  FixtureProcesses() {
    std::filesystem::create_directories(proc());
    std::filesystem::create_directories(cgroups() + "/unified");
    std::ofstream(cgroups() + "/unified/cgroup.controllers") << "\n";
  }

  const std::string& folder() const { return folder_.path(); }
  std::string proc() const { return folder() + "/proc"; }
  std::string cgroups() const { return folder() + "/cgroup"; }
  std::string file(uint32_t pid, const std::string& name) const {
    return proc() + "/" + std::to_string(pid) + "/" + name;
  }

  // Writes its files anew: what it was before is gone.
  void add(const FixtureProcess& p) const {
    end(p.pid);
    const std::string pid = std::to_string(p.pid);
    std::filesystem::create_directories(file(p.pid, "task/" + pid));
    std::ofstream(file(p.pid, "task/" + pid + "/stat"))
        << pid << " (" << p.comm << ") S " << p.parent << " 1 " << p.session << " 0 -1 " << p.flags
        << " 0 0 0 0 0 0 0 0 20 0 1 0 " << p.start << " 1 1 1 1 1 " << p.stack << " 0 0\n";
    std::ofstream(file(p.pid, "status"))
        << "Name:\t" << p.comm << "\nTgid:\t" << (p.of ? p.of : p.pid) << "\nUid:\t" << p.uid
        << "\t0\t0\t0\n";
    write_list(file(p.pid, "cmdline"), p.argv);
    write_list(file(p.pid, "environ"), p.environment);
    std::ofstream(file(p.pid, "cgroup")) << p.cgroup;
    std::ofstream(file(p.pid, "maps")) << p.maps;
  }
  void end(uint32_t pid) const { std::filesystem::remove_all(proc() + "/" + std::to_string(pid)); }

 private:
  static void write_list(const std::string& path, const std::vector<std::string>& list) {
    std::ofstream file(path);
    for (const std::string& entry : list) file << entry << '\0';
  }
  TestFolder folder_;
};

}  // namespace jobscope
