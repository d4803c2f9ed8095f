#include "src/bpf/symbols.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

extern "C" {
__attribute__((used)) char jobscope_symbol_for_test[77] = {1};
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern const char __executable_start;  // the linker's: where the file's first byte lies
}

namespace jobscope {
namespace {

TEST(FindSymbol, finds_where_a_variable_lies_in_this_program) {
  const auto symbol = find_symbol("/proc/self/exe", "jobscope_symbol_for_test");
  ASSERT_TRUE(symbol);
  EXPECT_EQ(symbol->address, static_cast<uint64_t>(jobscope_symbol_for_test - &__executable_start));
  EXPECT_EQ(symbol->size, 77u);
}

TEST(FindSymbol, needs_the_whole_name_and_a_definition) {
  EXPECT_FALSE(find_symbol("/proc/self/exe", "jobscope_symbol_for_tes"));
  EXPECT_FALSE(find_symbol("/proc/self/exe", "jobscope_symbol_for_test2"));
  EXPECT_FALSE(find_symbol("/proc/self/exe", "pidfd_open"));  // of libc, if of anyone
}

// Position-dependent: its first byte does not lie at 0.
TEST(FindSymbol, finds_the_runtime_of_python) {
  const std::string python = "/usr/bin/python3.11";
  if (!std::filesystem::exists(python)) GTEST_SKIP() << "no " << python;
  const auto symbol = find_symbol(python, "_PyRuntime");
  ASSERT_TRUE(symbol);
  EXPECT_GT(symbol->size, 10'000u);
  // Within the file or a little behind it (.bss), not 4 MiB further, where the program lies.
  EXPECT_LT(symbol->address + symbol->size, std::filesystem::file_size(python) + (1u << 20));
  EXPECT_GT(symbol->address, 0u);
}

TEST(FindSymbol, finds_nothing_in_what_is_no_program) {
  const std::string text = ::testing::TempDir() + "symbols_test." + std::to_string(::getpid());
  for (const char* content : {"", "no program, but some text\n", "\177ELF\2\1\1"}) {
    std::ofstream(text) << content;
    EXPECT_FALSE(find_symbol(text, "main")) << content;
  }
  std::filesystem::remove(text);
  EXPECT_FALSE(find_symbol(text, "main"));
  EXPECT_FALSE(find_symbol("/", "main"));
}

}  // namespace
}  // namespace jobscope
