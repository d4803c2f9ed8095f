// trace process: forks, execs, exits.
#include <fmt/format.h>

#include <csignal>
#include <sys/wait.h>

#include "process_trace.skel.h"
#include "src/trace/figures.h"
#include "src/trace/tracer_of.h"

namespace jobscope {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> words_of(std::string_view argv) {
  std::vector<std::string> words;
  while (!argv.empty()) {
    const size_t end = argv.find('\0');
    words.emplace_back(argv.substr(0, end));
    if (end == std::string_view::npos) break;
    argv.remove_prefix(end + 1);
  }
  return words;
}

class ProcessTracer : public TracerOf<process_trace_bpf> {
 public:
  ProcessTracer(const TraceOptions& options, JobFinder& finder)
      : TracerOf(options, finder, false) {}

  std::vector<EventColumn> columns() const override {
    return {{"EVENT", 5, false, 0},
            {"PID", 7, true, 0},
            {"PARENT", 7, true, 4},
            {"COMMAND", 15, false, 0},
            {"DETAIL", 30, false, 0}};
  }

 protected:
  Result<> attach() override {
    const auto& p = skeleton()->progs;
    for (bpf_program* program : {p.on_fork, p.on_exec, p.on_exit}) TRY(attach_program(program));
    return {};
  }

  void decode(uint32_t type, const void* data, size_t size) override {
    const auto r = record_as<process_record>(data, size);
    if (!r || !followed().wants(r->head.pid, r->head.verdict)) return;
    EventLine line;
    line.at = r->head.at;
    if (type == TRACE_FORK) {
      line.fields = begin_fields("fork", r->head);
      line.fields["child"] = r->child;
      line.cells = {"fork", std::to_string(r->child), std::to_string(r->head.pid),
                    text_of(r->child_comm), ""};
    } else if (type == TRACE_EXEC) {
      tell_exec(*r, data, size, line);
    } else {
      tell_exit(*r, line);
    }
    emit(std::move(line));
  }

 private:
  static void tell_exec(const process_record& r, const void* data, size_t size, EventLine& line) {
    const size_t length = std::min<size_t>(r.argv_size, size - sizeof(r));
    const auto argv = words_of({static_cast<const char*>(data) + sizeof(r), length});
    line.fields = begin_fields("exec", r.head);
    line.fields["ppid"] = r.ppid;
    line.fields["argv"] = argv;
    line.fields["argv_truncated"] = r.argv_size < r.argv_full;
    line.cells = {"exec", std::to_string(r.head.pid), std::to_string(r.ppid), text_of(r.head.comm),
                  fmt::format("{}{}", fmt::join(argv, " "), r.argv_size < r.argv_full ? " …" : "")};
  }

  static void tell_exit(const process_record& r, EventLine& line) {
    const int signal = WTERMSIG(r.status);
    line.fields = begin_fields("exit", r.head);
    line.fields["ppid"] = r.ppid;
    line.fields["code"] = signal ? Json(nullptr) : Json(WEXITSTATUS(r.status));
    line.fields["signal"] = signal ? Json(signal_text(signal)) : Json(nullptr);
    line.fields["lifetime_ns"] = r.lifetime;
    // Of the thread that ends the kernel knows it as of its last tick or switch: a least value.
    line.fields["cpu_ns"] = r.cpu_ns ? Json(r.cpu_ns) : Json(nullptr);
    line.cells = {"exit", std::to_string(r.head.pid), std::to_string(r.ppid), text_of(r.head.comm),
                  fmt::format("{} · lived {} · CPU {}",
                              signal ? "killed by " + signal_text(signal)
                                     : fmt::format("code {}", WEXITSTATUS(r.status)),
                              time_figure(r.lifetime), r.cpu_ns ? time_figure(r.cpu_ns) : "?")};
  }
};

}  // namespace

std::unique_ptr<Tracer> process_tracer(const TraceOptions& options, JobFinder& finder) {
  return std::make_unique<ProcessTracer>(options, finder);
}

}  // namespace jobscope
