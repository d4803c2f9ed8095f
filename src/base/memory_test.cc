#include "src/base/memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace jobscope {
namespace {

TEST(PeakRss, is_what_the_kernel_says_in_bytes) {
  const std::filesystem::path proc =
      ::testing::TempDir() + "memory_test." + std::to_string(::getpid());
  std::filesystem::create_directories(proc / "7");
  std::ofstream(proc / "7/status") << "Name:\tx\nVmPeak:\t    9000 kB\nVmHWM:\t    1237 kB\n";
  EXPECT_EQ(peak_rss(7, proc), 1237u * 1024);
  EXPECT_EQ(peak_rss(8, proc), std::nullopt);
  std::ofstream(proc / "7/status") << "Name:\tkthread\n";
  EXPECT_EQ(peak_rss(7, proc), std::nullopt);
  std::filesystem::remove_all(proc);
}

TEST(PeakRss, of_a_living_process_is_known) {
  EXPECT_GT(peak_rss(static_cast<uint32_t>(::getpid())).value_or(0), 1u << 20);
}

}  // namespace
}  // namespace jobscope
