// A folder of a test's own, gone with it; in memory, if there is a place for that: some disks take
// milliseconds to remove a folder.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace jobscope {

class TestFolder {
 public:
  TestFolder() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    const bool memory = ::access("/dev/shm", W_OK) == 0;
    path_ = (memory ? "/dev/shm/" : ::testing::TempDir()) + "jobscope_test." +
            std::to_string(::getpid()) + "." + test->name();
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace jobscope
