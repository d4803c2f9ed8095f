#include "src/http/log_limit.h"

namespace jobscope {
namespace {

constexpr unsigned kLines = 10;
constexpr std::chrono::minutes kSpan{1};

}  // namespace

void LogLimit::operator()(const std::string& line) {
  if (!log_) return;
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  if (told_ == 0 || now - since_ > kSpan) {
    if (left_out_) log_(std::to_string(left_out_) + " more such lines were left out");
    since_ = now;
    told_ = 0;
    left_out_ = 0;
  }
  if (told_ >= kLines) {
    ++left_out_;
    return;
  }
  ++told_;
  log_(line);
}

}  // namespace jobscope
