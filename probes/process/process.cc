// The processes of a job: what they ran, how they ended, and who ended them.
#include <unistd.h>

#include "probes/process/process_table.h"
#include "process.skel.h"
#include "src/base/cgroups.h"
#include "src/base/clock.h"
#include "src/bpf/prototype.h"
#include "src/bpf/skeleton.h"

namespace jobscope {
namespace {

constexpr uint64_t kForeignAfter = 60'000'000'000;  // ns

class ProcessProbe : public Probe {
 public:
  Result<> start(SharedMaps& maps) override {
    TRY(skeleton_.open());
    const auto victim = tracepoint_arguments("mark_victim");
    const bool by_task = victim && !victim->empty() && victim->front() == "task_struct";
    bpf_program__set_autoload(skeleton_->progs.on_oom_task, victim && by_task);
    bpf_program__set_autoload(skeleton_->progs.on_oom_pid, victim && !by_task);
    TRY(skeleton_.load(maps));
    return skeleton_.attach();
  }

  void begin_look() override { processes_.begin_look(monotonic_now()); }

  void on_thread(const ThreadRecord& record) override { processes_.thread(record); }

  void on_event(const event& event) override {
    switch (event.type) {
      case EVENT_EXEC: {
        const auto& exec = reinterpret_cast<const exec_event&>(event);
        processes_.exec(exec, {reinterpret_cast<const char*>(&exec + 1), exec.argv_size});
        break;
      }
      case EVENT_PROCESS_END: processes_.end(reinterpret_cast<const process_event&>(event)); break;
      case EVENT_OOM_KILL: oom_kill(reinterpret_cast<const oom_event&>(event)); break;
      default: break;
    }
  }

  Result<> collect(const Knowledge& knowledge, Snapshot& snapshot) override {
    settle_oom_kills();
    processes_.write(knowledge.clock_offset, snapshot.processes);
    snapshot.oom_kills = oom_kills_;
    return {};
  }

  const bpf_object* object() const override { return skeleton_->obj; }

 private:
  void oom_kill(const oom_event& event) {
    OomKill kill;
    kill.pid = event.pid;
    kill.name = std::string(event.name, ::strnlen(event.name, sizeof(event.name)));
    if (event.cgroup) {
      kill.cgroup = memory_cgroup_path(event.cgroup);
      if (kill.cgroup.empty()) kill.cgroup = "cgroup id " + std::to_string(event.cgroup);
      kill.limit = event.limit * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    }
    kill.at = event.at;
    unsettled_.push_back(std::move(kill));
  }

  // A process that was forked and did not exec is known late. Those that the kernel named are the
  // job's; what is not known after a while was somebody else's.
  void settle_oom_kills() {
    const uint64_t old = monotonic_now() - kForeignAfter;
    std::erase_if(unsettled_, [&](OomKill& kill) {
      const auto name = processes_.oom_killed(kill.pid, kill.at);
      if (!name && kill.name.empty()) return kill.at < old;
      if (kill.name.empty()) kill.name = *name;
      oom_kills_.push_back(kill);
      return true;
    });
  }

  Skeleton<process_bpf> skeleton_;
  ProcessTable processes_;
  std::vector<OomKill> oom_kills_, unsettled_;
};

}  // namespace

extern const ProbeInfo process_probe;
const ProbeInfo process_probe{
    "process", "the job's processes: command, life, how each ended and who ended it",
    []() -> std::unique_ptr<Probe> { return std::make_unique<ProcessProbe>(); }};

}  // namespace jobscope
