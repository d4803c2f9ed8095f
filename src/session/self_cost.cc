#include "src/session/self_cost.h"

#include <bpf/bpf.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

namespace jobscope {
namespace {

// Run time of the BPF programs that this process holds, ns.
uint64_t run_time() {
  uint64_t sum = 0;
  const long open_max = 1024;
  for (int fd = 3; fd < open_max; ++fd) {
    bpf_prog_info info{};
    uint32_t size = sizeof(info);
    if (bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && size >= sizeof(info) && info.type != 0)
      sum += info.run_time_ns;
  }
  return sum;
}

}  // namespace

void BpfCost::tick(uint64_t now) {
  if (!started_) started_ = now;
  if (window_ && now - opened_ >= kWindow) {
    window_.reset();
    watched_ += now - opened_;
  }
  const bool due = opened_ == 0 || now - opened_ >= kPeriod;
  if (!window_ && due) {
    window_ = Fd(bpf_enable_stats(BPF_STATS_RUN_TIME));
    opened_ = now;
  }
}

std::optional<uint64_t> BpfCost::estimate(uint64_t now) const {
  const uint64_t watched = watched_ + (window_ ? now - opened_ : 0);
  if (!watched) return std::nullopt;
  const double scale = static_cast<double>(now - started_) / static_cast<double>(watched);
  return static_cast<uint64_t>(static_cast<double>(run_time()) * scale);
}

void measure_process(SelfCost& cost) {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  const auto ns = [](const timeval& t) {
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_usec) * 1000;
  };
  cost.cpu = ns(use.ru_utime) + ns(use.ru_stime);
  cost.rss = static_cast<uint64_t>(use.ru_maxrss) * 1024;
}

}  // namespace jobscope
