// trace block: each request to a disk when it has ended.
#include <fmt/format.h>

#include <algorithm>

#include "block_trace.skel.h"
#include "src/base/block_devices.h"
#include "src/bpf/block_programs.h"
#include "src/bpf/map.h"
#include "src/trace/figures.h"
#include "src/trace/operation.h"
#include "src/trace/tracer_of.h"

namespace jobscope {
namespace {

using Json = nlohmann::ordered_json;

class BlockTracer : public TracerOf<block_trace_bpf> {
 public:
  BlockTracer(const TraceOptions& options, JobFinder& finder)
      : TracerOf(options, finder, true),
        counts_reads_(options.filter.by_process() || !options.filter.comm.empty()) {}

  std::vector<EventColumn> columns() const override {
    return {{"LATENCY", 8, true, 0}, {"QUEUE", 8, true, 5}, {"DEVICE", 8, true, 5},
            {"BYTES", 8, true, 0},   {"DISK", 8, false, 0}, {"OPERATION", 10, false, 0},
            {"SECTOR", 12, true, 6}, {"PID", 7, true, 2},   {"COMMAND", 15, false, 0},
            {"JOB", 12, false, 3}};
  }

  void settle() override { programs_.settle(); }
  std::string degraded() const override { return programs_.degraded(); }

  std::vector<std::string> closing(uint64_t shown) const override {
    auto sentences = TracerOf::closing(shown);
    if (counts_reads_) sentences.push_back(reads_sentence(shown));
    return sentences;
  }

 protected:
  Result<> prepare() override {
    TRY(programs_.choose(skeleton()));
    skeleton()->rodata->wanted_device = followed().filter().device;
    skeleton()->rodata->count_reads = counts_reads_;
    bpf_program__set_autoload(skeleton()->progs.on_call_end, counts_reads_);
    return {};
  }

  Result<> attach() override {
    if (counts_reads_) TRY(attach_program(skeleton()->progs.on_call_end));
    return programs_.attach(skeleton());
  }

  void decode(uint32_t type, const void* data, size_t size) override {
    const auto r = record_as<block_record>(data, size);
    if (type != TRACE_BLOCK || !r || !followed().wants(r->head.pid, r->head.verdict)) return;
    const std::string disk = block_device_name(r->device);
    const std::string operation = operation_name(r->operation);
    const std::string flags = operation_flags(r->flags);
    const std::string job = followed().job_of(r->head.pid);
    const uint64_t latency = r->head.at - r->start;

    EventLine line;
    line.at = r->head.at;
    Json& f = line.fields = begin_fields("block", r->head);
    f["job"] = job.empty() ? Json(nullptr) : Json(job);
    f["latency_us"] = r->unseen ? Json(nullptr) : Json(microseconds(latency));
    f["queue_us"] = r->issued ? Json(microseconds(r->issued - r->start)) : Json(nullptr);
    f["device_us"] = r->issued ? Json(microseconds(r->head.at - r->issued)) : Json(nullptr);
    f["bytes"] = r->bytes;
    f["device"] = disk;
    f["operation"] = operation;
    f["flags"] = flags;
    f["sector"] = r->operation == BLOCK_FLUSH ? Json(nullptr) : Json(r->sector);
    f["failed"] = r->error != 0;
    line.cells = {r->unseen ? "?" : time_figure(latency),
                  r->issued ? time_figure(r->issued - r->start) : "?",
                  r->issued ? time_figure(r->head.at - r->issued) : "?",
                  std::to_string(r->bytes),
                  disk,
                  operation + (flags.empty() ? "" : " " + flags) + (r->error ? " FAILED" : ""),
                  r->operation == BLOCK_FLUSH ? "" : std::to_string(r->sector),
                  std::to_string(r->head.pid),
                  text_of(r->head.comm),
                  job};
    emit(std::move(line));
  }

 private:
  std::string reads_sentence(uint64_t shown) const {
    uint64_t cached = 0, device = 0;
    for_each<uint32_t, read_calls>(bpf_map__fd(skeleton()->maps.reads),
                                   [&](uint32_t pid, const read_calls& calls) {
                                     if (!const_cast<BlockTracer*>(this)->is_counted(pid)) return;
                                     cached += calls.cached;
                                     device += calls.device;
                                   });
    std::string text = fmt::format("{} block I/Os; ", shown);
    if (cached + device == 0) return text + "no reads of files were seen";
    text += fmt::format("{} of {} reads of files needed none: the page cache had what they read",
                        cached, cached + device);
    return text;
  }

  // With a job to filter by, processes not judged yet were counted as well.
  bool is_counted(uint32_t pid) {
    return followed().filter().job.empty() || followed().job_of(pid) == followed().filter().job;
  }

  bool counts_reads_;
  BlockPrograms programs_;
};

}  // namespace

std::unique_ptr<Tracer> block_tracer(const TraceOptions& options, JobFinder& finder) {
  return std::make_unique<BlockTracer>(options, finder);
}

}  // namespace jobscope
