// trace uprobe:LIB:SYMBOL(…): calls of a function of user space.
#include <fmt/format.h>

#include "src/trace/elf_functions.h"
#include "src/trace/figures.h"
#include "src/trace/own_line.h"
#include "src/trace/tracer_of.h"
#include "src/trace/uprobe_spec.h"
#include "uprobe_trace.skel.h"

namespace jobscope {
namespace {

using Json = nlohmann::ordered_json;
using Type = UprobeArgument::Type;

class UprobeTracer : public TracerOf<uprobe_trace_bpf> {
 public:
  UprobeTracer(const TraceOptions& options, JobFinder& finder, UprobeSpec spec, std::string path,
               uint64_t offset, std::optional<PrintFormat> print)
      : TracerOf(options, finder, print && print->uses("job")),
        spec_(std::move(spec)),
        path_(std::move(path)),
        offset_(offset),
        print_(std::move(print)) {}

  std::vector<EventColumn> columns() const override { return own_columns(print_.has_value()); }

 protected:
  Result<> prepare() override {
    const auto places = places_of(spec_);
    for (size_t i = 0; i < places.size(); ++i) {
      auto& place = const_cast<uprobe_argument&>(
          reinterpret_cast<const uprobe_argument*>(skeleton()->rodata->arguments)[i]);
      place = places[i];
      if (place.text) skeleton()->rodata->texts = place.text;
    }
    return {};
  }

  Result<> attach() override {
    BpfLog log;
    bpf_link* link = bpf_program__attach_uprobe(skeleton()->progs.on_call, spec_.at_return, -1,
                                                path_.c_str(), offset_);
    if (!link) return log.failure(fmt::format("attaching to {} in {}", spec_.symbol, path_), errno);
    keep(Link(link));
    return {};
  }

  void decode(uint32_t type, const void* data, size_t size) override {
    uprobe_record r{};  // with only so many strings as there are
    if (type != TRACE_UPROBE || size < offsetof(uprobe_record, texts)) return;
    std::memcpy(&r, data, std::min(size, sizeof(r)));
    if (!followed().wants(r.head.pid, r.head.verdict)) return;
    EventLine line;
    line.at = r.head.at;
    line.fields = begin_fields(spec_.at_return ? "uretprobe" : "uprobe", r.head);
    line.fields["event"] = spec_.symbol;
    Json own = Json::object();
    std::vector<std::pair<std::string, std::string>> texts;
    size_t strings = 0;
    for (size_t i = 0; i < spec_.arguments.size(); ++i) {
      const auto& [name, kind] = spec_.arguments[i];
      std::string text = argument_text(kind, r.values[i]);
      if (kind == Type::str) {
        const bool readable = r.lengths[strings] > 0;
        text = readable ? text_of(r.texts[strings]) : fmt::format("({:#x})", r.values[i]);
        own[name] = readable ? Json(text) : Json(nullptr);
        ++strings;
      } else if (kind == Type::hex || kind == Type::ptr) {
        own[name] = text;
      } else if (kind <= Type::u64) {
        own[name] = std::stoull(text);
      } else {
        own[name] = std::stoll(text);
      }
      texts.emplace_back(name, std::move(text));
    }
    line.fields["fields"] = std::move(own);
    const std::string job = print_ && print_->uses("job") ? followed().job_of(r.head.pid) : "";
    const auto value = [&](const std::string& name) {
      for (const auto& [field, text] : texts)
        if (field == name) return text;
      return common_text(name, r.head, spec_.symbol, job).value_or("");
    };
    line.cells = own_cells(print_, r.head, texts, value);
    if (print_) line.fields["text"] = line.cells[0];
    emit(std::move(line));
  }

 private:
  UprobeSpec spec_;
  std::string path_;
  uint64_t offset_;
  std::optional<PrintFormat> print_;
};

}  // namespace

Result<std::unique_ptr<Tracer>> uprobe_tracer(const TraceOptions& options, JobFinder& finder,
                                              const std::string& text, const std::string& print) {
  UprobeSpec spec = TRY(parse_uprobe(text));
  std::vector<uint32_t> pids;
  if (options.filter.pids) pids = options.filter.pids();
  if (!options.filter.job.empty()) pids = finder.processes_of(options.filter.job);
  const std::string path = TRY(find_library(spec.library, pids));
  const ElfFunctions functions = TRY(ElfFunctions::read(path));
  const ElfFunction* function = functions.find(spec.symbol);
  if (!function) {
    const auto near = nearest_names(spec.symbol, functions.names());
    return fail(fmt::format("{} has no function '{}'", path, spec.symbol),
                near.empty() ? "" : fmt::format("did you mean {}?", fmt::join(near, ", ")));
  }
  if (function->chosen_at_run_time)
    return fail(fmt::format("{} in {} is chosen when a program starts, by the kind of the CPU",
                            spec.symbol, path),
                "trace a function that calls it");
  std::optional<PrintFormat> parsed;
  if (!print.empty()) {
    std::vector<std::string> known;
    for (const UprobeArgument& argument : spec.arguments) known.push_back(argument.name);
    for (const std::string& name : common_names()) known.push_back(name);
    parsed = TRY(PrintFormat::parse(print, known));
  }
  const uint64_t offset = function->offset;
  return std::unique_ptr<Tracer>(std::make_unique<UprobeTracer>(options, finder, std::move(spec),
                                                                path, offset, std::move(parsed)));
}

}  // namespace jobscope
