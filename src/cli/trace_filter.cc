#include "src/cli/trace_filter.h"

#include <fmt/format.h>

#include <ctime>

#include "src/base/block_devices.h"
#include "src/cli/targets.h"

namespace jobscope {
namespace {

constexpr size_t kMostComm = 15;
constexpr int64_t kSecond = 1'000'000'000;

std::string check_pid(const std::string& text) {
  const bool plain = !text.empty() && text.size() < 10 && text.front() != '0' &&
                     text.find_first_not_of("0123456789") == std::string::npos;
  return plain ? std::string() : "'" + text + "' is not the number of a process";
}

}  // namespace

void declare(CLI::App& app, FilterOptions& options, bool with_device) {
  app.add_option("--job", options.job, "only this job: of processes that begin later, too")
      ->type_name("NAME");
  app.add_option("--comm", options.comm, "only threads, or processes, of this name")
      ->type_name("NAME");
  app.add_option("-p,--pid", options.pid, "only this process and all below it")
      ->check(CLI::Validator(check_pid, "PID"));
  if (with_device)
    app.add_option("--device", options.device, "only this disk (vda, /dev/vda, 254:0)")
        ->type_name("DISK");
}

Result<TraceFilter> filter_of(const FilterOptions& options) {
  TraceFilter filter;
  filter.job = options.job;
  if (options.pid && !options.job.empty())
    return fail("--pid and --job cannot be given together", "--pid takes its children with it");
  if (options.pid) {
    Target target;
    target.pid = options.pid;
    (void)TRY(find_processes(target));
    filter.pids = [target] { return find_processes(target).value_or(std::vector<uint32_t>{}); };
  }
  filter.comm = options.comm.substr(0, kMostComm);  // so long the kernel keeps it
  if (!options.device.empty()) filter.device = TRY(find_block_device(options.device));
  return filter;
}

std::string utc_time(int64_t unix_ns) {
  const time_t seconds = unix_ns / kSecond;
  tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     unix_ns % kSecond / 1000);
}

std::string time_of_day(int64_t unix_ns, bool us) {
  const time_t seconds = unix_ns / kSecond;
  tm here{};
  ::localtime_r(&seconds, &here);
  std::string text = fmt::format("{:02}:{:02}:{:02}", here.tm_hour, here.tm_min, here.tm_sec);
  if (us) text += fmt::format(".{:06}", unix_ns % kSecond / 1000);
  return text;
}

}  // namespace jobscope
