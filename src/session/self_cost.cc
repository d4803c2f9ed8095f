#include "src/session/self_cost.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "bpf/thread.h"
#include "src/base/memory.h"
#include "src/bpf/map.h"

namespace jobscope {

std::optional<uint64_t> bpf_run_time(const SharedMaps& maps, uint32_t cpus) {
  const auto g = first<globals>(maps.fd("session_globals"));
  double sum = 0;
  bool any = false;
  for (uint32_t which = 0; which < COSTS; ++which) {
    cost total{};
    uint64_t runs = 0;
    for (const cost& one : per_cpu<cost>(maps.fd("costs"), which, cpus)) {
      if (one.timed) runs += one.timed * COST_EVERY - one.left;
      total.timed += one.timed;
      total.ns += one.ns;
    }
    if (!total.timed) continue;
    any = true;
    const double clock = static_cast<double>(g.clock_cost) * static_cast<double>(total.timed);
    const double net = std::max(0.0, static_cast<double>(total.ns) - clock);
    sum += net * static_cast<double>(runs) / static_cast<double>(total.timed);
  }
  if (!any) return std::nullopt;
  return static_cast<uint64_t>(sum);
}

void measure_process(SelfCost& cost) {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  const auto ns = [](const timeval& t) {
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 +
           static_cast<uint64_t>(t.tv_usec) * 1000;
  };
  cost.cpu = ns(use.ru_utime) + ns(use.ru_stime);
  cost.rss = peak_rss(static_cast<uint32_t>(::getpid())).value_or(0);
}

}  // namespace jobscope
