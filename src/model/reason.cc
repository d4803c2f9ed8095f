#include "src/model/reason.h"

#include <numeric>

namespace jobscope {
namespace {

struct Names {
  std::string_view name, label;
};

constexpr std::array<Names, kReasons> kNames{{
    {"cpu_user", "CPU, user"},
    {"cpu_system", "CPU, kernel"},
    {"stolen", "stolen from it"},
    {"runqueue", "waiting for a CPU"},
    {"throttled", "throttled by quota"},
    {"disk_read", "disk read"},
    {"disk_write", "disk write"},
    {"fsync", "fsync"},
    {"page_fault", "page fault"},
    {"file_other", "file, other"},
    {"remote_fs", "remote file system"},
    {"net_recv", "network receive"},
    {"net_send", "network send"},
    {"net_connect", "network connect"},
    {"poll", "poll"},
    {"pipe", "pipe"},
    {"unix_socket", "unix socket"},
    {"futex", "futex"},
    {"gil", "Python GIL"},
    {"barrier", "OpenMP barrier"},
    {"sleep", "sleep"},
    {"wait_child", "child process"},
    {"accelerator", "accelerator"},
    {"memory", "memory"},
    {"stopped", "stopped"},
    {"other", "other"},
}};

}  // namespace

uint64_t sum(const Parts& parts) {
  return std::accumulate(parts.begin(), parts.end(), uint64_t{0});
}

void add(Parts& to, const Parts& from) {
  for (size_t i = 0; i < kReasons; ++i) to[i] += from[i];
}

std::string_view name(Reason reason) { return kNames[static_cast<size_t>(reason)].name; }

std::string_view label(Reason reason) { return kNames[static_cast<size_t>(reason)].label; }

std::optional<Reason> reason_by_name(std::string_view name) {
  for (size_t i = 0; i < kReasons; ++i)
    if (kNames[i].name == name) return static_cast<Reason>(i);
  return std::nullopt;
}

}  // namespace jobscope
