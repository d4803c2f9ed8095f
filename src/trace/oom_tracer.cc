// trace oom: processes that the kernel kills for lack of memory.
#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "oom_trace.skel.h"
#include "src/base/cgroups.h"
#include "src/bpf/prototype.h"
#include "src/trace/figures.h"
#include "src/trace/tracer_of.h"

namespace jobscope {
namespace {

using Json = nlohmann::ordered_json;

std::string comm_of(uint32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

class OomTracer : public TracerOf<oom_trace_bpf> {
 public:
  OomTracer(const TraceOptions& options, JobFinder& finder) : TracerOf(options, finder, false) {}

  std::vector<EventColumn> columns() const override {
    return {{"KILLED", 7, true, 0},      {"COMMAND", 15, false, 0}, {"MEMORY", 10, true, 0},
            {"BECAUSE OF", 10, true, 0}, {"COMMAND", 15, false, 3}, {"LIMIT", 30, false, 0}};
  }

 protected:
  Result<> prepare() override {
    const auto arguments = tracepoint_arguments("mark_victim");
    if (!arguments) return fail("the kernel has no tracepoint of OOM kills (oom:mark_victim)");
    by_task_ = !arguments->empty() && arguments->front() == "task_struct";
    bpf_program__set_autoload(skeleton()->progs.on_oom_task, by_task_);
    bpf_program__set_autoload(skeleton()->progs.on_oom_pid, !by_task_);
    return {};
  }
  Result<> attach() override {
    return attach_program(by_task_ ? skeleton()->progs.on_oom_task : skeleton()->progs.on_oom_pid);
  }

  void decode(uint32_t, const void* data, size_t size) override {
    const auto r = record_as<oom_record>(data, size);
    if (!r) return;
    if (!followed().wants(r->victim, r->head.verdict) &&
        !followed().wants(r->head.pid, r->head.verdict))
      return;
    const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    const uint64_t memory = (r->anon_pages + r->file_pages + r->shmem_pages) * page;
    const std::string victim = r->victim_comm[0] ? text_of(r->victim_comm) : comm_of(r->victim);
    const std::string cgroup = r->cgroup ? memory_cgroup_path(r->cgroup) : "";
    EventLine line;
    line.at = r->head.at;
    Json& f = line.fields = begin_fields("oom", r->head);
    f["victim"] = r->victim;
    f["victim_comm"] = victim;
    const auto pages = [&](uint64_t count) {
      return r->has_memory ? Json(count * page) : Json(nullptr);
    };
    f["anon_bytes"] = pages(r->anon_pages);
    f["file_bytes"] = pages(r->file_pages);
    f["shmem_bytes"] = pages(r->shmem_pages);
    f["cgroup"] = r->cgroup ? Json(cgroup) : Json(nullptr);
    f["limit_bytes"] = r->cgroup ? Json(r->limit * page) : Json(nullptr);
    line.cells = {std::to_string(r->victim),
                  victim,
                  r->has_memory ? bytes_figure(memory) : "?",
                  std::to_string(r->head.pid),
                  text_of(r->head.comm),
                  r->cgroup ? fmt::format("{} of {}", bytes_figure(r->limit * page), cgroup)
                            : "the machine's"};
    emit(std::move(line));
  }

 private:
  bool by_task_ = false;
};

}  // namespace

std::unique_ptr<Tracer> oom_tracer(const TraceOptions& options, JobFinder& finder) {
  return std::make_unique<OomTracer>(options, finder);
}

}  // namespace jobscope
