// The options that say whom `trace` and `io-latency` are about.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "src/base/result.h"
#include "src/trace/filter.h"

namespace jobscope {

struct FilterOptions {
  std::string job, comm, device;
  uint32_t pid = 0;
};
// `with_device`: of block I/O.
void declare(CLI::App& app, FilterOptions& options, bool with_device);
// A wrong name of a device, or a process that is not there, is an error.
Result<TraceFilter> filter_of(const FilterOptions& options);

// "2026-11-30T20:07:42.123456Z"
std::string utc_time(int64_t unix_ns);
// "20:07:42" here; with µs "20:07:42.123456".
std::string time_of_day(int64_t unix_ns, bool us);

}  // namespace jobscope
