// trace signal: who sent what to whom, and what became of it.
#include <fmt/format.h>

#include <array>

#include "signal_trace.skel.h"
#include "src/trace/figures.h"
#include "src/trace/tracer_of.h"

namespace jobscope {
namespace {

// enum of include/trace/events/signal.h, in its order
constexpr std::array kResults = {"delivered", "ignored", "already pending", "lost: queue full",
                                 "its details lost: queue full"};

class SignalTracer : public TracerOf<signal_trace_bpf> {
 public:
  SignalTracer(const TraceOptions& options, JobFinder& finder) : TracerOf(options, finder, false) {}

  std::vector<EventColumn> columns() const override {
    return {{"SIGNAL", 10, false, 0}, {"FROM", 7, true, 0},      {"COMMAND", 15, false, 0},
            {"TO", 7, true, 0},       {"COMMAND", 15, false, 0}, {"RESULT", 16, false, 3}};
  }

 protected:
  Result<> attach() override { return attach_program(skeleton()->progs.on_signal); }

  void decode(uint32_t, const void* data, size_t size) override {
    const auto r = record_as<signal_record>(data, size);
    if (!r) return;
    const uint32_t sender = r->head.pid;
    if (!followed().wants(sender, r->head.verdict) &&
        !(r->head.verdict == VERDICT_UNKNOWN && followed().wants(r->target_pid, VERDICT_UNKNOWN)))
      return;
    const std::string result = r->result < kResults.size() ? kResults[r->result] : "?";
    EventLine line;
    line.at = r->head.at;
    auto& f = line.fields = begin_fields("signal", r->head);
    f["by_kernel"] = r->by_kernel != 0;
    f["signal"] = signal_text(r->signal);
    f["number"] = r->signal;
    f["target_pid"] = r->target_pid;
    f["target_tid"] = r->target_tid;
    f["target_comm"] = text_of(r->target_comm);
    f["code"] = r->code;
    f["whole_process"] = r->group != 0;
    f["result"] = result;
    line.cells = {signal_text(r->signal),  r->by_kernel ? "kernel" : std::to_string(sender),
                  text_of(r->head.comm),   std::to_string(r->group ? r->target_pid : r->target_tid),
                  text_of(r->target_comm), result};
    emit(std::move(line));
  }
};

}  // namespace

std::unique_ptr<Tracer> signal_tracer(const TraceOptions& options, JobFinder& finder) {
  return std::make_unique<SignalTracer>(options, finder);
}

}  // namespace jobscope
