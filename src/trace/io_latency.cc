#include "src/trace/io_latency.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

#include "io_latency.skel.h"
#include "src/base/block_devices.h"
#include "src/bpf/block_programs.h"
#include "src/bpf/inner_map.h"
#include "src/trace/object.h"
#include "src/trace/operation.h"

namespace jobscope {
namespace {

constexpr uint64_t kRing = 256 << 10;  // only processes to look at come through it

Histogram merged(const std::vector<histogram>& copies) {
  Histogram sum;
  for (const histogram& copy : copies) {
    Histogram one;
    std::copy(std::begin(copy.slots), std::end(copy.slots), one.slots.begin());
    one.max = copy.max;
    one.sum = copy.sum;
    sum.merge(one);
  }
  return sum;
}

class Rounds : public IoLatency {
 public:
  Rounds(const LatencyOptions& options, JobFinder& finder)
      : options_(options), finder_(&finder), followed_(options.filter, finder, options.by_job) {}

  Result<> open() {
    TRY(skeleton_.open());
    prepare_trace_object(skeleton_->obj, kRing);
    TRY(programs_.choose(skeleton_));
    followed_.prepare(skeleton_);
    skeleton_->rodata->by_device = options_.by_device;
    skeleton_->rodata->by_operation = options_.by_operation;
    skeleton_->rodata->by_comm = options_.by_comm;
    skeleton_->rodata->by_pid = names_jobs();
    skeleton_->rodata->unit_ns = options_.milliseconds ? 1'000'000 : 1'000;
    skeleton_->rodata->wanted_device = options_.filter.device;
    SharedMaps maps;
    TRY(skeleton_.load(maps));
    rounds_ = InnerMap(bpf_map__fd(skeleton_->maps.latencies_now),
                       bpf_map__fd(skeleton_->maps.latencies), bpf_object__btf_fd(skeleton_->obj));
    ring_ = TRY(TraceRing::open(skeleton_->obj, [this](const void* data, size_t size) {
      if (size < sizeof(new_process)) return;
      new_process process{};
      std::memcpy(&process, data, sizeof(process));
      followed_.take(process);
    }));
    TRY(followed_.attach(skeleton_));
    return programs_.attach(skeleton_);
  }

  int fd() const override { return ring_->fd(); }
  void drain() override { ring_->drain(); }
  std::string degraded() const override { return programs_.degraded(); }

  Result<LatencyRound> next() override {
    drain();
    programs_.settle();
    const int full = TRY(rounds_.swap());
    std::map<std::tuple<std::string, std::string, std::string, std::string>, Histogram> rows;
    std::vector<histogram> copies(static_cast<size_t>(libbpf_num_possible_cpus()));
    latency_key key{};
    const void* from = nullptr;
    while (bpf_map_get_next_key(full, from, &key) == 0) {
      from = &key;
      if (bpf_map_lookup_elem(full, &key, copies.data()) != 0) continue;
      const std::string job = names_jobs() ? job_of(key) : "";
      if (!options_.filter.job.empty() && job != options_.filter.job) continue;
      rows[{options_.by_device ? block_device_name(key.device) : "",
            options_.by_operation ? operation_name(key.operation) : "",
            options_.by_job ? job : "",
            {key.comm, ::strnlen(key.comm, sizeof(key.comm))}}]
          .merge(merged(copies));
    }
    clear<latency_key>(full);
    LatencyRound round;
    for (auto& [names, latency] : rows) {
      const auto& [device, operation, job, comm] = names;
      round.rows.push_back({device, operation, job, comm, latency});
    }
    const auto lost = trace_losses(skeleton_->obj);
    for (const auto& [what, count] : lost)
      if (const uint64_t more = count - lost_[what]) round.lost[what] = more;
    lost_ = lost;
    return round;
  }

 private:
  bool names_jobs() const { return options_.by_job || !options_.filter.job.empty(); }

  // By the process; if that is gone, by its cgroup.
  std::string job_of(const latency_key& key) {
    std::string job = followed_.job_of(key.pid);
    if (job.empty() && key.cgroup)
      if (const auto labels = finder_->of_cgroup(key.cgroup)) job = labels->job;
    return job;
  }

  LatencyOptions options_;
  JobFinder* finder_;
  Followed followed_;
  Skeleton<io_latency_bpf> skeleton_;
  BlockPrograms programs_;
  InnerMap rounds_;
  std::unique_ptr<TraceRing> ring_;
  std::map<std::string, uint64_t> lost_;
};

}  // namespace

Result<std::unique_ptr<IoLatency>> IoLatency::start(const LatencyOptions& options,
                                                    JobFinder& finder) {
  auto rounds = std::make_unique<Rounds>(options, finder);
  TRY(rounds->open());
  return std::unique_ptr<IoLatency>(std::move(rounds));
}

}  // namespace jobscope
