// Where the time of each thread went: the time identity.
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "probes/sched/thread_table.h"
#include "probes/sched/wait_names.h"
#include "probes/sched/waker_table.h"
#include "sched.skel.h"
#include "sched_cast.skel.h"
#include "src/bpf/kernel.h"
#include "src/bpf/kernel_btf.h"
#include "src/bpf/map.h"
#include "src/bpf/skeleton.h"

namespace jobscope {
namespace {

constexpr uint64_t kSampleHz = 49;  // a prime, so that it does not march with the kernel's ticks

// Major numbers of accelerator drivers, as a bit set for the kernel side.
void find_accelerators(__u64* majors) {
  constexpr std::string_view kDrivers[] = {"nvidia", "davinci", "devdrv", "hisi_hdc", "kfd",
                                           "drm",    "accel",   "habana", "mlu",      "ipu"};
  std::ifstream devices("/proc/devices");
  std::string line;
  while (std::getline(devices, line) && line != "Block devices:") {
    unsigned major = 0;
    char name[64] = {};
    if (std::sscanf(line.c_str(), "%u %63s", &major, name) != 2 || major >= 512) continue;
    for (const std::string_view driver : kDrivers)
      if (std::string_view(name).starts_with(driver)) majors[major / 64] |= 1ull << (major % 64);
  }
}

// Debian's level 3 asks for more than CAP_PERFMON.
std::string perf_paranoid_note(int error) {
  std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
  int level = 0;
  if (error != EACCES || !(file >> level)) return {};
  return ", while kernel.perf_event_paranoid is " + std::to_string(level);
}

// Object: sched_bpf or sched_cast_bpf, which have the same programs and maps.
template <class Object>
class SchedProbe : public Probe {
 public:
  Result<> start(SharedMaps& maps) override {
    TRY(skeleton_.open());
    find_accelerators(skeleton_->rodata->accelerator_majors);
#if defined(__x86_64__)
    const auto preempt_count = preempt_count_from_runqueue();
#else
    const std::optional<int64_t> preempt_count = 0;  // lies in the task
#endif
    skeleton_->rodata->preempt_count_from_rq = preempt_count.value_or(0);
    skeleton_->rodata->may_allocate = has_switch_allocation();
    const auto& p = skeleton_->progs;
    const auto wake_ups = {p.on_wakeup, p.on_first_wakeup};
    for (bpf_program* program : wake_ups) bpf_program__set_autoload(program, !has_sched_info());
    TRY(skeleton_.load(maps));
    wakers_ = WakerTable(InnerMap(bpf_map__fd(skeleton_->maps.wakers_now),
                                  bpf_map__fd(skeleton_->maps.wakers),
                                  bpf_object__btf_fd(skeleton_->obj)));
    if (!has_sched_info())
      for (bpf_program* program : wake_ups) links_.push_back(TRY(attach(program)));
    links_.push_back(TRY(attach(p.on_switch)));
    optional(preempt_count ? attach(p.on_waking)
                           : fail("neither BTF nor /proc/kallsyms tell where preempt_count lies"),
             "no names of who ends waits");
    optional(attach_samples(), "no CPU samples");
    return {};
  }

  std::string degraded() const override { return degraded_; }

  void on_drain(const globals& g) override { wakers_.make_room(g.waker_entries); }

  void begin_look() override { threads_.begin_look(); }

  void on_thread(const ThreadRecord& record) override { threads_.add(record); }

  void glance(const Knowledge& knowledge, Snapshot& snapshot) override {
    threads_.write_brief(knowledge.clock_offset, snapshot.threads);
  }

  Result<> collect(const Knowledge& knowledge, Snapshot& snapshot) override {
    threads_.write(knowledge.clock_offset, knowledge.processes, snapshot.threads);
    write_unsent(knowledge, snapshot);
    write_waits(knowledge, snapshot);
    snapshot.wakers = wakers_.rows();
    for (const histogram& h :
         per_cpu<histogram>(bpf_map__fd(skeleton_->maps.runqueues_us), 0, knowledge.cpus)) {
      Histogram one;
      std::copy(std::begin(h.slots), std::end(h.slots), one.slots.begin());
      one.max = h.max;
      one.sum = h.sum;
      snapshot.runqueue.merge(one);
    }
    return {};
  }

  const bpf_object* object() const override { return skeleton_->obj; }

 private:
  void optional(Result<Link> link, const std::string& lack) {
    if (link) {
      links_.push_back(std::move(*link));
      return;
    }
    if (!degraded_.empty()) degraded_ += "; ";
    degraded_ += lack + " (" + link.error().what + ")";
  }

  Result<Link> attach_samples() {
    const int cpus = libbpf_num_possible_cpus();
    std::vector<Link> links;
    for (int cpu = 0; cpu < cpus; ++cpu) {
      perf_event_attr attr{};
      attr.type = PERF_TYPE_SOFTWARE;
      attr.size = sizeof(attr);
      attr.config = PERF_COUNT_SW_CPU_CLOCK;
      attr.freq = 1;
      attr.sample_freq = kSampleHz;
      const int event = static_cast<int>(
          ::syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));
      if (event < 0) {
        if (errno == ENODEV) continue;  // offline
        const int error = errno;
        return fail_errno("opening the CPU clock event" + perf_paranoid_note(error), error);
      }
      BpfLog log;
      bpf_link* link = bpf_program__attach_perf_event(skeleton_->progs.on_sample, event);
      if (!link) {
        const int error = errno;
        ::close(event);
        return fail_errno("attaching to the CPU clock event", error);
      }
      links.emplace_back(link);  // owns the event's descriptor
    }
    if (links.empty()) return fail("there is no CPU to sample");
    Link last = std::move(links.back());
    links.pop_back();
    std::move(links.begin(), links.end(), std::back_inserter(links_));
    return last;
  }

  // Threads whose record found no room in the ring: their time is not lost.
  void write_unsent(const Knowledge& knowledge, Snapshot& snapshot) const {
    ThreadUse lost;
    lost.name = "(records lost)";
    lost.exited = true;
    lost.threads = 0;
    for (const unsent& one :
         per_cpu<unsent>(bpf_map__fd(skeleton_->maps.unsents), 0, knowledge.cpus)) {
      lost.threads += static_cast<uint32_t>(one.threads);
      for (size_t i = 0; i < kReasons; ++i) lost.parts[i] += one.parts[i];
    }
    lost.lifetime = sum(lost.parts);
    if (lost.threads) snapshot.threads.push_back(std::move(lost));
  }

  void write_waits(const Knowledge& knowledge, Snapshot& snapshot) const {
    struct Id {
      uint32_t pid;
      std::string process;
      bool main_thread;
      Reason reason;
      std::string target;
      auto operator<=>(const Id&) const = default;
    };
    std::map<Id, wait_use> waits;
    for (const auto& [key, use] : knowledge.named_waits) {
      Id id{key.pid, knowledge.processes.name({key.pid, key.process}), key.main_thread != 0,
            static_cast<Reason>(key.reason), wait_target(key, knowledge)};
      wait_use& sum = waits[std::move(id)];
      sum.ns += use.ns;
      sum.count += use.count;
    }
    for (const auto& [id, use] : waits)
      snapshot.waits.push_back(
          {id.pid, id.process, id.main_thread, id.reason, id.target, use.ns, use.count});
    std::stable_sort(snapshot.waits.begin(), snapshot.waits.end(),
                     [](const WaitUse& a, const WaitUse& b) { return a.wait > b.wait; });
  }

  Skeleton<Object> skeleton_;
  std::vector<Link> links_;
  ThreadTable threads_;
  WakerTable wakers_;
  std::string degraded_;
};

}  // namespace

extern const ProbeInfo sched_probe;
const ProbeInfo sched_probe{"sched",
                            "where each thread's time goes: CPU, run queue, waits by reason",
                            []() -> std::unique_ptr<Probe> {
                              if (has_function("bpf_rdonly_cast"))
                                return std::make_unique<SchedProbe<sched_cast_bpf>>();
                              return std::make_unique<SchedProbe<sched_bpf>>();
                            }};

}  // namespace jobscope
