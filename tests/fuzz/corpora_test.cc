// Each fuzz target on its corpus, and on mutations of it by a fixed seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#define TARGET(name) void fuzz_##name(std::string_view);
#include "fuzz_targets.inc"
#undef TARGET

namespace {

namespace fs = std::filesystem;

using Target = void (*)(std::string_view);

std::vector<std::string> corpus_of(const std::string& target) {
  std::vector<fs::path> paths;
  for (const auto& entry :
       fs::directory_iterator(fs::path(JOBSCOPE_SOURCE_DIR) / "tests/fuzz/corpus" / target))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const fs::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

void mutate(std::string& bytes, std::mt19937& random) {
  const auto place = [&] { return bytes.empty() ? 0 : random() % bytes.size(); };
  switch (random() % 5) {
    case 0: bytes.resize(place()); break;
    case 1: bytes.insert(place(), 1 + random() % 4, static_cast<char>(random())); break;
    case 2: {
      const size_t from = place();
      bytes.insert(place(), bytes.substr(from, random() % 64));
      break;
    }
    case 3: bytes.erase(place(), random() % 16); break;
    default:
      if (!bytes.empty()) bytes[place()] = static_cast<char>(random());
  }
}

void run(const std::string& name, Target target) {
  const std::vector<std::string> corpus = corpus_of(name);
  ASSERT_FALSE(corpus.empty());
  for (const std::string& bytes : corpus) target(bytes);
  std::mt19937 random(23);
  constexpr int kMutations = 3000;
  for (int i = 0; i < kMutations; ++i) {
    std::string bytes = corpus[random() % corpus.size()];
    for (unsigned n = 1 + random() % 4; n > 0; --n) mutate(bytes, random);
    target(bytes);
  }
}

#define TARGET(name) \
  TEST(FuzzCorpus, name) { run(#name, fuzz_##name); }
#include "fuzz_targets.inc"
#undef TARGET

}  // namespace
