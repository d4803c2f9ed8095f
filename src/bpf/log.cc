#include "src/bpf/log.h"

#include <bpf/libbpf.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace jobscope {
namespace {

std::vector<std::string>* current = nullptr;

int take(libbpf_print_level level, const char* format, va_list args) {
  if (level == LIBBPF_DEBUG) return 0;
  va_list copy;
  va_copy(copy, args);
  char line[1024];
  std::vsnprintf(line, sizeof(line), format, args);
  const char* debug = std::getenv("JOBSCOPE_DEBUG");
  if (debug && std::string_view(debug) == "bpf") std::vfprintf(stderr, format, copy);
  va_end(copy);
  if (current && level == LIBBPF_WARN) current->emplace_back(line);
  return 0;
}

}  // namespace

BpfLog::BpfLog() : before_(current) {
  current = &lines_;
  libbpf_set_print(take);
}

BpfLog::~BpfLog() { current = before_; }

std::string BpfLog::first() const {
  constexpr std::string_view kPrefix = "libbpf: ";
  for (const std::string& line : lines_) {
    std::string_view text = line;
    if (text.starts_with(kPrefix)) text.remove_prefix(kPrefix.size());
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
    if (text.find("RLIMIT_MEMLOCK") != std::string_view::npos) continue;  // harmless since 5.11
    if (const size_t end = text.find('\n'); end != std::string_view::npos)
      text = text.substr(0, end);
    if (!text.empty()) return std::string(text);
  }
  return {};
}

}  // namespace jobscope
