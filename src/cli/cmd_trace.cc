// jobscope trace: events as they happen, a line each.
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <memory>

#include "src/base/caller.h"
#include "src/base/caps.h"
#include "src/cli/command.h"
#include "src/cli/duration.h"
#include "src/cli/stream.h"
#include "src/cli/trace_filter.h"
#include "src/cli/trace_show.h"
#include "src/trace/tracer.h"

namespace jobscope {
namespace {

struct Options {
  std::string what;
  FilterOptions filter;
  ShowOptions show;
  std::string over, limit, count, print, buffer = "4M";
};

constexpr const char* kKinds =
    "block, wait, process, signal, oom, tracepoint:SUB:NAME, "
    "uprobe:LIB:SYMBOL(…) or uretprobe:LIB:SYMBOL(…)";
constexpr uint64_t kLeastBuffer = 4096, kMostBuffer = 1ull << 30;

// "64k", "4M", "1048576" → bytes.
Result<uint64_t> parse_size(const std::string& text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const std::string_view unit(rest, static_cast<size_t>(end - rest));
  const int shift = unit.empty()                 ? 0
                    : unit == "k" || unit == "K" ? 10
                    : unit == "m" || unit == "M" ? 20
                    : unit == "g" || unit == "G" ? 30
                                                 : -1;
  if (error != std::errc() || shift < 0 || value > kMostBuffer || (value << shift) < kLeastBuffer ||
      (value << shift) > kMostBuffer)
    return fail("'" + text + "' is not a size of the buffer", "from 4k to 1G");
  return value << shift;
}

Result<> check(const Options& options) {
  const bool own = options.what.starts_with("tracepoint:") || options.what.starts_with("uprobe:") ||
                   options.what.starts_with("uretprobe:");
  if (!options.filter.device.empty() && options.what != "block")
    return fail("--device is for 'trace block'");
  if (!options.over.empty() && options.what != "wait") return fail("--over is for 'trace wait'");
  if (options.what == "wait" && options.over.empty())
    return fail("'trace wait' needs to know which waits are long", "add --over 10ms");
  if (!options.print.empty() && !own)
    return fail("--print is for tracepoints and uprobes", "--json has all fields of the others");
  return {};
}

Result<std::unique_ptr<Tracer>> tracer_of(const Options& options, const TraceOptions& trace,
                                          JobFinder& finder) {
  if (options.what == "block") return block_tracer(trace, finder);
  if (options.what == "process") return process_tracer(trace, finder);
  if (options.what == "signal") return signal_tracer(trace, finder);
  if (options.what == "oom") return oom_tracer(trace, finder);
  if (options.what == "wait") return wait_tracer(trace, finder, TRY(parse_duration(options.over)));
  constexpr std::string_view kTracepoint = "tracepoint:";
  if (options.what.starts_with(kTracepoint))
    return tracepoint_tracer(trace, finder, options.what.substr(kTracepoint.size()), options.print);
  if (options.what.starts_with("uprobe:") || options.what.starts_with("uretprobe:"))
    return uprobe_tracer(trace, finder, options.what, options.print);
  return fail("there is nothing called '" + options.what + "' to trace",
              std::string("name one of ") + kKinds);
}

Result<int> trace(Options options, const Invocation& invocation) {
  TRY(check(options));
  if (!options.limit.empty()) options.show.limit = TRY(parse_duration(options.limit));
  if (!options.count.empty()) {
    uint64_t count = 0;
    const char* end = options.count.data() + options.count.size();
    const auto [rest, error] = std::from_chars(options.count.data(), end, count);
    if (error != std::errc() || rest != end || !count)
      return fail("'" + options.count + "' is not a number of events", "give 1 or more");
    options.show.count = count;
  }
  options.show.job = options.filter.job;
  TraceOptions trace;
  trace.ring_bytes = TRY(parse_size(options.buffer));
  trace.filter = TRY(filter_of(options.filter));
  JobFinder finder({});
  const std::unique_ptr<Tracer> tracer = TRY(tracer_of(options, trace, finder));

  TRY(check_watch_privileges(invocation.argv));
  const Caller caller = TRY(find_caller(CallerSources::of_this_process()));
  const StopSignals stop = TRY(StopSignals::open());
  TraceShow show(*tracer, stop, options.show);
  TRY(tracer->start([&](EventLine line) { show.take(std::move(line)); }));
  TRY(become(caller.id, kept_capabilities(caller.id.uid)));
  return show.run();
}

std::function<Result<int>()> declare_trace(CLI::App& app, const Invocation& invocation) {
  auto options = std::make_shared<Options>();
  app.add_option("WHAT", options->what, kKinds)->required();
  declare(app, options->filter, true);
  app.add_option("--over", options->over, "of waits: only those at least so long (10ms)")
      ->type_name("TIME");
  app.add_option("--print", options->print,
                 "of tracepoints and uprobes: what to print, as '{comm} nr={nr_sector}'")
      ->type_name("FORMAT");
  app.add_option("-n,--count", options->count, "end after so many events")->type_name("N");
  app.add_option("--for", options->limit, "end after this time (30s, 5m)")->type_name("TIME");
  app.add_flag("--relative", options->show.relative,
               "seconds since the start, not the time of day");
  app.add_flag("--json", options->show.json, "one JSON object an event, each on a line");
  app.add_option("--buffer", options->buffer,
                 "memory between kernel and jobscope; what does not fit is lost, and counted")
      ->type_name("SIZE")
      ->capture_default_str();
  app.footer(
      "The whole machine, until Ctrl-C. What was lost is told at once and at the end.\n\n"
      "  block       each request to a disk when it has ended: latency, time in the queue and in "
      "the\n"
      "              device, who made it. With --job, --pid or --comm also, at the end, how many\n"
      "              reads of files needed no request: read, pread64, readv, preadv and preadv2 "
      "on\n"
      "              files of disks or memory that gave something and in which their thread made "
      "no\n"
      "              block request. Mapped files and io_uring are not counted.\n"
      "  wait        threads that waited longer than --over: for what, on which file or peer, "
      "where\n"
      "  process     forks, execs with their arguments, exits with code, lifetime and CPU time\n"
      "  signal      who sent what to whom, and what became of it\n"
      "  oom         who was killed for lack of memory, by whose allocation, in which cgroup\n"
      "  tracepoint:SUB:NAME                      any of the kernel's, with its fields\n"
      "  'uprobe:LIB:SYMBOL(a: u64, name: str)'   calls of a function; types u8 … u64, i8 … i64, "
      "ptr,\n"
      "  'uretprobe:LIB:SYMBOL(retval: i32)'      hex, str; LIB a path or a library's name\n\n"
      "  jobscope trace block --job lenet\n"
      "  jobscope trace wait --over 10ms --comm python\n"
      "  jobscope trace tracepoint:block:block_rq_issue --print '{comm} {pid} nr={nr_sector}'");
  return [options, invocation] { return trace(*options, invocation); };
}

}  // namespace

const Command trace_command{"trace", "event lines as they happen: I/O, waits, processes, calls", 2,
                            declare_trace};

}  // namespace jobscope
