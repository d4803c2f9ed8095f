// Spans: pieces of time with a name, as tracing systems show them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace jobscope {

struct Span {
  std::array<uint8_t, 16> trace_id{};       // all zero is not valid
  std::array<uint8_t, 8> span_id{};         // the same
  std::array<uint8_t, 8> parent_span_id{};  // all zero: a root
  std::string name;
  uint64_t start_unix_ns = 0, end_unix_ns = 0;  // of CLOCK_REALTIME
  std::vector<std::pair<std::string, std::string>> attributes;
};

// The spans of one resource: a service, as a rule.
struct ResourceSpans {
  std::vector<std::pair<std::string, std::string>> attributes;  // service.name and so on
  std::vector<Span> spans;
};

}  // namespace jobscope
