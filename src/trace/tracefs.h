// The kernel's tracepoints as tracefs describes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"

namespace jobscope {

struct TracepointField {
  std::string name;
  uint32_t offset = 0, size = 0;
  bool is_signed = false;
  enum class Kind {
    number,
    text,          // char[]: up to its NUL
    bytes,         // an array, or a number of no usual size
    dynamic_text,  // __data_loc: offset | length << 16, from the start of the record
    dynamic_bytes,
  } kind = Kind::number;
  bool relative = false;  // __rel_loc: the offset is from the end of the field
};

struct TracepointFormat {
  std::string system, name;
  std::vector<TracepointField> fields;  // its own, without the common_ ones
  uint32_t size = 0;                    // up to the end of the last field
};

// Parses a file `format` of tracefs.
Result<TracepointFormat> parse_format(std::string_view text);

// Where tracefs is; mounts it at /sys/kernel/tracing if it is nowhere.
Result<std::string> find_tracefs();
// "block:block_rq_issue" → its format. An unknown one is an error that names the nearest.
Result<TracepointFormat> read_format(const std::string& tracefs, const std::string& tracepoint);

// One field as text: a number, text, or bytes in hexadecimal; "" if it lies outside of the record.
std::string field_text(const TracepointField& field, std::string_view record);
// The number in it, if it is one.
bool field_number(const TracepointField& field, std::string_view record, int64_t& value);

}  // namespace jobscope
