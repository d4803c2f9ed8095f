// jobscope io-latency: histograms of the latency of block I/O.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "src/base/caller.h"
#include "src/base/caps.h"
#include "src/base/clock.h"
#include "src/cli/command.h"
#include "src/cli/duration.h"
#include "src/cli/stream.h"
#include "src/cli/trace_filter.h"
#include "src/output/histogram_text.h"
#include "src/trace/io_latency.h"

namespace jobscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kLeastInterval = 10'000'000;  // ns
constexpr int kMostWait = 500;                   // ms: to see that the reader has gone

struct Options {
  std::string interval;
  std::string count;
  LatencyOptions what;
  FilterOptions filter;
  bool json = false;
};

struct Rounds {
  std::optional<uint64_t> interval;  // ns; none: until a signal; 0: one round, at once
  std::optional<uint64_t> count;     // none: endless
};

Result<Rounds> rounds_of(const Options& options) {
  Rounds rounds;
  if (options.interval.empty()) {
    rounds.count = 1;
    return rounds;
  }
  double seconds = 0;
  const char* end = options.interval.data() + options.interval.size();
  const auto [rest, error] = std::from_chars(options.interval.data(), end, seconds);
  if (error == std::errc() && rest == end && seconds == 0) {
    rounds.interval = 0;
    rounds.count = 1;
    return rounds;
  }
  rounds.interval = TRY(parse_duration(options.interval));
  if (*rounds.interval < kLeastInterval)
    return fail("an interval of " + options.interval + " is too short", "give 0.01 or more");
  if (options.count.empty()) return rounds;
  int64_t count = 0;
  const char* last = options.count.data() + options.count.size();
  const auto [stop, wrong] = std::from_chars(options.count.data(), last, count);
  if (wrong != std::errc() || stop != last)
    return fail("'" + options.count + "' is not a number of rounds");
  if (count > 0) rounds.count = static_cast<uint64_t>(count);
  return rounds;
}

std::string lost_text(const std::map<std::string, uint64_t>& lost) {
  std::string text;
  for (const auto& [what, count] : lost)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  return text;
}

// "loop3 · read · python3": what the histogram is of.
std::string title(const LatencyRow& row, const LatencyOptions& what) {
  std::vector<std::string> parts;
  if (what.by_device) parts.push_back(row.device);
  if (what.by_operation) parts.push_back(row.operation);
  if (what.by_job) parts.push_back(row.job.empty() ? "(no job)" : row.job);
  if (what.by_comm) parts.push_back(row.comm);
  return fmt::format("{}", fmt::join(parts, " · "));
}

std::string text_of(const LatencyRound& round, const LatencyOptions& what, int64_t now,
                    const TextStyle& style) {
  std::string text = "\n" + paint(time_of_day(now, false), Colour::bold, style) + "\n";
  if (round.rows.empty()) text += "no block I/O\n";
  const SlotUnit unit = what.milliseconds ? SlotUnit::ms : SlotUnit::us;
  bool first = true;
  for (const LatencyRow& row : round.rows) {
    if (!first) text += "\n";
    first = false;
    const std::string name = printable(title(row, what), style);
    if (!name.empty()) text += paint(shorten(name, style.width, style), Colour::cyan, style) + "\n";
    for (const std::string& line : histogram_lines(row.latency, unit, style)) text += line + "\n";
  }
  if (!round.lost.empty()) text += "lost: " + lost_text(round.lost) + "\n";
  return text;
}

std::string json_of(const LatencyRound& round, const LatencyOptions& what, int64_t now,
                    uint64_t ns) {
  Json rows = Json::array();
  for (const LatencyRow& row : round.rows) {
    Json object = Json::object();
    if (what.by_device) object["device"] = row.device;
    if (what.by_operation) object["operation"] = row.operation;
    if (what.by_job) object["job"] = row.job.empty() ? Json(nullptr) : Json(row.job);
    if (what.by_comm) object["comm"] = row.comm;
    object[what.milliseconds ? "latency_ms" : "latency_us"] =
        histogram_json(row.latency, what.milliseconds ? SlotUnit::ms : SlotUnit::us);
    rows.push_back(std::move(object));
  }
  Json out;
  out["time"] = utc_time(now);
  out["seconds"] = static_cast<double>(ns / 1000) / 1e6;
  out["histograms"] = std::move(rows);
  out["lost"] = Json(round.lost);
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Waits until the round is over. False: it is the last one, for a signal came or the reader went.
bool wait_for_round(IoLatency& latency, const StopSignals& stop, const StreamWriter& out,
                    std::optional<uint64_t> until) {
  while (true) {
    const uint64_t now = monotonic_now();
    if (until && now >= *until) return true;
    int wait = kMostWait;
    if (until) wait = std::min(wait, static_cast<int>((*until - now) / 1'000'000 + 1));
    std::array<pollfd, 2> polled{{{stop.fd(), POLLIN, 0}, {latency.fd(), POLLIN, 0}}};
    ::poll(polled.data(), polled.size(), wait);
    latency.drain();
    if (polled[0].revents || out.reader_gone()) return false;
  }
}

Result<int> measure(Options options, const Invocation& invocation, const CLI::App& app) {
  for (const std::string& extra : app.remaining()) {  // a count below 0 looks like an option
    int64_t count = 0;
    const auto [end, error] = std::from_chars(extra.data(), extra.data() + extra.size(), count);
    if (error != std::errc() || end != extra.data() + extra.size() || !options.count.empty() ||
        options.interval.empty())
      return fail("'" + extra + "' was not expected",
                  "'jobscope io-latency --help' lists its options");
    options.count = extra;
  }
  const Rounds rounds = TRY(rounds_of(options));
  options.what.filter = TRY(filter_of(options.filter));
  TRY(check_watch_privileges(invocation.argv));
  const Caller caller = TRY(find_caller(CallerSources::of_this_process()));
  const StopSignals stop = TRY(StopSignals::open());
  JobFinder finder({});
  const auto latency = TRY(IoLatency::start(options.what, finder));
  TRY(become(caller.id, kept_capabilities(caller.id.uid)));
  if (!latency->degraded().empty()) print_error({latency->degraded(), {}, 0});
  if (!options.json) to_stderr("Watching block I/O. Ctrl-C ends it.\n");

  const TextStyle style = style_for(STDOUT_FILENO);
  StreamWriter out(STDOUT_FILENO, stop);
  uint64_t began = monotonic_now();
  uint64_t due = began;
  for (uint64_t done = 0; !rounds.count || done < *rounds.count; ++done) {
    std::optional<uint64_t> until;
    if (rounds.interval) until = due += *rounds.interval;
    const bool more = wait_for_round(*latency, stop, out, until);
    const LatencyRound round = TRY(latency->next());
    const uint64_t now = monotonic_now();
    const auto unix_now = static_cast<int64_t>(read_clock(CLOCK_REALTIME));
    out.add(options.json ? json_of(round, options.what, unix_now, now - began)
                         : text_of(round, options.what, unix_now, style));
    began = now;
    if (due < now && rounds.interval && *rounds.interval)
      due = now - (now - due) % *rounds.interval;
    if (!TRY(out.flush()) || !more) break;
  }
  return 0;
}

std::function<Result<int>()> declare_io_latency(CLI::App& app, const Invocation& invocation) {
  auto options = std::make_shared<Options>();
  app.add_option("INTERVAL", options->interval,
                 "seconds between two histograms (1, 0.5, 500ms); none: one histogram, at Ctrl-C; "
                 "0: one, at once");
  app.add_option("COUNT", options->count,
                 "histograms until it ends; none, 0 or less: until Ctrl-C");
  app.add_flag("-d,--by-device", options->what.by_device, "a histogram for each disk");
  app.add_flag("-o,--by-operation", options->what.by_operation,
               "a histogram for reads, writes, flushes, discards each");
  app.add_flag("-j,--by-job", options->what.by_job, "a histogram for each job");
  app.add_flag("-c,--by-command", options->what.by_comm,
               "a histogram for each command that made the requests");
  app.add_flag("-m,--milliseconds", options->what.milliseconds, "milliseconds instead of µs");
  app.add_flag("--json", options->json, "one JSON object a round, each on a line");
  declare(app, options->filter, true);
  app.allow_extras();
  app.footer(
      "Latency of the whole machine's block I/O, from the start of a request to its end, in log2\n"
      "histograms. Ctrl-C prints the round that is under way and ends it. Requests of file "
      "systems\n"
      "that have no disk of this machine (NFS, FUSE) are not block I/O; what the page cache "
      "answers\n"
      "makes no request.\n\n"
      "  jobscope io-latency 1 5      five histograms of a second each\n"
      "  jobscope io-latency -d -o 10    every 10 s, by disk and operation");
  return [options, invocation, &app] { return measure(*options, invocation, app); };
}

}  // namespace

const Command io_latency_command{"io-latency", "histograms of the latency of block I/O", 2,
                                 declare_io_latency};

}  // namespace jobscope
