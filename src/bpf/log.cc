#include "src/bpf/log.h"

#include <bpf/libbpf.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "src/bpf/kernel.h"

namespace jobscope {
namespace {

std::vector<std::string>* current = nullptr;

int take(libbpf_print_level level, const char* format, va_list args) {
  if (level == LIBBPF_DEBUG) return 0;
  va_list copy;
  va_copy(copy, args);
  std::string message(static_cast<size_t>(std::max(std::vsnprintf(nullptr, 0, format, copy), 0)),
                      0);
  va_end(copy);
  std::vsnprintf(message.data(), message.size() + 1, format, args);
  const char* debug = std::getenv("JOBSCOPE_DEBUG");
  if (debug && std::string_view(debug) == "bpf") std::fputs(message.c_str(), stderr);
  if (current && level == LIBBPF_WARN) current->push_back(std::move(message));
  return 0;
}

// The text after the last `mark`, up to `end`; "" if there is none.
std::string_view after(std::string_view text, std::string_view mark, std::string_view end) {
  const size_t at = text.rfind(mark);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + mark.size());
  return text.substr(0, text.find(end));
}

// Of the verifier's log its last word: the line before its statistics.
std::string_view verdict(std::string_view log) {
  const size_t end = log.find("\nprocessed ");
  if (end == std::string_view::npos) return {};
  log = log.substr(0, end);
  const size_t line = log.rfind('\n');
  return line == std::string_view::npos ? log : log.substr(line + 1);
}

}  // namespace

BpfLog::BpfLog() : before_(current) {
  current = &messages_;
  libbpf_set_print(take);
}

BpfLog::~BpfLog() { current = before_; }

tl::unexpected<Error> BpfLog::failure(const std::string& what, int code) const {
  std::string program, why;
  for (const std::string& message : messages_) {
    if (program.empty() && message.find("BPF program load failed") != std::string::npos)
      program = " (" + std::string(after(message, "prog '", "'")) + ")";
    // libbpf's words for a relocation that it could not do: "<byte_off> [12] struct request.state
    // (…"
    const std::string_view relocation = after(message, "failed to resolve CO-RE relocation ", "\n");
    if (why.empty() && !relocation.empty())
      why = "the kernel lacks " + std::string(after(relocation, "] ", " ("));
    if (why.empty() && !verdict(message).empty())
      why = std::string(std::strerror(code)) + ": " + std::string(verdict(message));
  }
  if (why.empty()) why = std::strerror(code);
  return tl::unexpected<Error>(Error{what + ": " + why + program, memlock_hint(code), code});
}

std::string BpfLog::failed_program() const {
  for (auto message = messages_.rbegin(); message != messages_.rend(); ++message)
    if (message->find("': failed to load") != std::string::npos)
      return std::string(after(*message, "prog '", "'"));
  return {};
}

}  // namespace jobscope
