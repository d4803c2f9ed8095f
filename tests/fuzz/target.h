// A fuzz target: a function that takes any bytes and must neither crash nor hang. `make fuzz` gives
// it to libFuzzer; the unit tests give it its corpus, and a few thousand mutations of that
// (corpora_test.cc).
#pragma once

#include <string_view>

#ifdef JOBSCOPE_LIBFUZZER
#include <cstddef>
#include <cstdint>
#define FUZZ_TARGET(name)                                                   \
  void fuzz_##name(std::string_view);                                       \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { \
    fuzz_##name({reinterpret_cast<const char*>(data), size});               \
    return 0;                                                               \
  }                                                                         \
  void fuzz_##name(std::string_view bytes)
#else
#define FUZZ_TARGET(name) void fuzz_##name(std::string_view bytes)
#endif
