#include "src/cli/trace_show.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "src/base/clock.h"
#include "src/cli/command.h"
#include "src/cli/trace_filter.h"

namespace jobscope {
namespace {

constexpr int kWait = 50;  // ms: the ring does not wake us for each event
constexpr uint64_t kSecond = 1'000'000'000;
constexpr size_t kFull = 64 << 10;  // bytes of lines to write at once

std::string losses_text(const std::map<std::string, uint64_t>& lost) {
  std::string text;
  for (const auto& [what, count] : lost)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  return text;
}

}  // namespace

TraceShow::TraceShow(Tracer& tracer, const StopSignals& stop, ShowOptions options)
    : tracer_(&tracer),
      stop_(&stop),
      options_(std::move(options)),
      out_(STDOUT_FILENO, stop),
      began_(monotonic_now()) {
  if (!options_.json)
    layout_.emplace(tracer.columns(), options_.relative ? 12 : 15, style_for(STDOUT_FILENO),
                    ::isatty(STDOUT_FILENO));
}

void TraceShow::take(EventLine line) {
  if (full_ || gone_) return;
  const auto at = static_cast<int64_t>(line.at + unix_offset_);
  if (options_.json) {
    nlohmann::ordered_json object;
    object["time"] = utc_time(at);
    object["ns"] = line.at;
    for (auto& [key, value] : line.fields.items()) object[key] = std::move(value);
    out_.add(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  } else {
    const auto since = static_cast<double>(static_cast<int64_t>(line.at - began_)) / 1e9;
    out_.add(layout_->line(
        options_.relative ? fmt::format("{:12.6f}", since) : time_of_day(at, true), line));
  }
  shown_ += 1;
  full_ = options_.count && shown_ >= *options_.count;
  // A slow reader holds up us alone: what the ring cannot take meanwhile is counted as lost.
  if (out_.waiting() >= kFull) {
    const Result<bool> more = out_.flush();
    gone_ = !more || !*more;
  }
}

bool TraceShow::over() const {
  return full_ || gone_ || none_left_ || stop_->came() ||
         (options_.limit && monotonic_now() - began_ >= options_.limit);
}

void TraceShow::say(const std::string& sentence) const {
  if (stderr_takes_text()) to_stderr("jobscope: " + sentence + "\n");
}

void TraceShow::tell_losses(bool last) {
  const auto lost = tracer_->lost();
  if (lost == lost_) return;
  lost_ = lost;
  if (options_.json) {
    nlohmann::ordered_json object;
    object["time"] = utc_time(static_cast<int64_t>(read_clock(CLOCK_REALTIME)));
    object["type"] = "lost";
    object["lost"] = lost;  // so far
    out_.add(object.dump() + "\n");
  }
  if (!last)
    say("lost so far: " + losses_text(lost) +
        (lost.contains("events") ? " (the ring was full: --buffer makes it larger)" : ""));
}

// A job begins and ends while we watch; without any process of --pid left there is nothing to see.
void TraceShow::look_at_processes() {
  const auto living = tracer_->living();
  if (!living) return;
  if (options_.job.empty()) {
    none_left_ = *living == 0;
    return;
  }
  if (!met_ && tracer_->met()) {
    met_ = living_ = true;
    say(fmt::format("job '{}' is there", options_.job));
  }
  if (living_ && *living == 0) {
    say(fmt::format("job '{}' has ended; waiting for its next run, Ctrl-C ends this",
                    options_.job));
    for (const std::string& sentence : tracer_->closing(shown_)) say("so far: " + sentence);
  }
  living_ = *living > 0;
}

Result<bool> TraceShow::turn() {
  std::array<pollfd, 2> polled{{{stop_->fd(), POLLIN, 0}, {tracer_->fd(), POLLIN, 0}}};
  ::poll(polled.data(), polled.size(), kWait);
  const uint64_t now = monotonic_now();
  unix_offset_ = read_clock(CLOCK_REALTIME) - now;
  tracer_->drain();
  if (now >= next_second_) {
    next_second_ = now + kSecond;
    tracer_->settle();
    tell_losses(false);
    look_at_processes();
  }
  if (!TRY(out_.flush()) || out_.reader_gone()) gone_ = true;
  return !gone_;
}

void TraceShow::close() {
  tracer_->settle();
  tracer_->drain();
  tell_losses(true);
  (void)out_.flush();
  say(fmt::format("{} events shown, {} lost{}", shown_,
                  lost_.contains("events") ? lost_.at("events") : 0,
                  lost_.empty() ? "" : " (" + losses_text(lost_) + ")"));
  for (const std::string& sentence : tracer_->closing(shown_)) say(sentence);
}

Result<int> TraceShow::run() {
  if (!tracer_->degraded().empty()) say(tracer_->degraded());
  if (!options_.job.empty() && !tracer_->met())
    say(fmt::format("job '{}' is not running; waiting for it, Ctrl-C ends this", options_.job));
  if (layout_) out_.add(layout_->header());
  if (!TRY(out_.flush())) gone_ = true;
  while (!over()) (void)TRY(turn());
  if (gone_) return 0;  // `| head`: nobody is left to be told
  close();
  return 0;
}

}  // namespace jobscope
