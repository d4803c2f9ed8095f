// The first bytes of a recording, read without SQLite.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "src/base/result.h"
#include "src/output/recording_schema.h"

namespace jobscope {

struct RecordingHeader {
  bool sqlite = false;   // a database of SQLite 3
  bool ours = false;     // and a recording of jobscope
  uint32_t version = 0;  // format version, if it is ours
};

inline Result<RecordingHeader> read_recording_header(int file, const std::string& action) {
  std::array<unsigned char, 100> bytes{};
  const ssize_t size = ::pread(file, bytes.data(), bytes.size(), 0);
  if (size < 0) return fail_errno(action);
  const auto big_endian = [&](size_t at) {
    return uint32_t{bytes[at]} << 24 | uint32_t{bytes[at + 1]} << 16 |
           uint32_t{bytes[at + 2]} << 8 | uint32_t{bytes[at + 3]};
  };
  RecordingHeader header;
  header.sqlite = static_cast<size_t>(size) == bytes.size() &&
                  std::memcmp(bytes.data(), "SQLite format 3", 16) == 0;
  header.ours = header.sqlite && big_endian(68) == kRecordingApplicationId;
  if (header.ours) header.version = big_endian(60);
  return header;
}

}  // namespace jobscope
