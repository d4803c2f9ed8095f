#include "src/output/self_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace jobscope {
namespace {

MetricFamily family(const char* name, const char* help, MetricType type, double value,
                    Labels labels = {}) {
  return {name, help, type, {{std::move(labels), value}}, {}};
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Fields of /proc/PID/stat from the third on (proc(5)): the second, in brackets, may hold anything.
std::vector<std::string> stat_fields(const std::string& stat) {
  const size_t after = stat.rfind(')');
  if (after == std::string::npos) return {};
  std::istringstream rest(stat.substr(after + 1));
  return {std::istream_iterator<std::string>(rest), {}};
}

double boot_time(const std::string& proc) {
  const std::string stat = read_file(proc + "/stat");
  const size_t at = stat.find("btime ");
  return at == std::string::npos ? 0 : std::strtod(stat.c_str() + at + 6, nullptr);
}

}  // namespace

std::vector<MetricFamily> self_metrics(const std::string& proc) {
  std::vector<MetricFamily> families;
  families.push_back(family("jobscope_build_info", "The program that made these metrics.",
                            MetricType::gauge, 1, {{"version", JOBSCOPE_VERSION}}));
  const auto fields = stat_fields(read_file(proc + "/self/stat"));
  constexpr size_t kUserTime = 11, kSystemTime = 12, kThreads = 17, kStart = 19, kVirtual = 20,
                   kResident = 21;
  if (fields.size() > kResident) {
    const auto number = [&](size_t i) { return std::strtod(fields[i].c_str(), nullptr); };
    const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
    families.push_back(family("process_cpu_seconds_total", "CPU time used, user and system.",
                              MetricType::counter,
                              (number(kUserTime) + number(kSystemTime)) / ticks));
    families.push_back(family("process_resident_memory_bytes", "Memory that is resident.",
                              MetricType::gauge, number(kResident) * page));
    families.push_back(family("process_virtual_memory_bytes", "Address space.", MetricType::gauge,
                              number(kVirtual)));
    families.push_back(family("process_threads", "Threads.", MetricType::gauge, number(kThreads)));
    if (const double boot = boot_time(proc); boot > 0)
      families.push_back(family("process_start_time_seconds", "When it was started, Unix time.",
                                MetricType::gauge, boot + number(kStart) / ticks));
  }
  std::error_code error;
  const auto open = std::distance(std::filesystem::directory_iterator(proc + "/self/fd", error),
                                  std::filesystem::directory_iterator());
  if (!error)
    families.push_back(family("process_open_fds", "Open file descriptors.", MetricType::gauge,
                              static_cast<double>(open)));
  if (rlimit limit{}; ::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    families.push_back(family("process_max_fds", "The most file descriptors it may have open.",
                              MetricType::gauge, static_cast<double>(limit.rlim_cur)));
  return families;
}

}  // namespace jobscope
