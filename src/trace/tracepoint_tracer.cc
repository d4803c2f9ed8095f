// trace tracepoint:SUB:NAME: any of the kernel's tracepoints.
#include <fmt/format.h>

#include <algorithm>

#include "src/trace/own_line.h"
#include "src/trace/tracefs.h"
#include "src/trace/tracer_of.h"
#include "tracepoint_trace.skel.h"

namespace jobscope {
namespace {

using Json = nlohmann::ordered_json;

class TracepointTracer : public TracerOf<tracepoint_trace_bpf> {
 public:
  TracepointTracer(const TraceOptions& options, JobFinder& finder, TracepointFormat format,
                   std::optional<PrintFormat> print)
      : TracerOf(options, finder, print && print->uses("job")),
        format_(std::move(format)),
        print_(std::move(print)) {}

  std::vector<EventColumn> columns() const override { return own_columns(print_.has_value()); }

 protected:
  Result<> prepare() override {
    if (format_.size >= TRACEPOINT_MAX)
      return fail(fmt::format("{}:{} is too large to be copied", format_.system, format_.name));
    auto* knobs = skeleton()->rodata;
    knobs->fixed_size = format_.size;
    uint32_t count = 0;
    for (const TracepointField& field : format_.fields) {
      const bool dynamic = field.kind == TracepointField::Kind::dynamic_text ||
                           field.kind == TracepointField::Kind::dynamic_bytes;
      if (!dynamic || count >= TRACEPOINT_STRINGS) continue;
      const_cast<unsigned short&>(knobs->dynamic_at[count]) =
          static_cast<unsigned short>(field.offset);
      const_cast<unsigned short&>(knobs->dynamic_from[count]) =
          static_cast<unsigned short>(field.relative ? field.offset + field.size : 0);
      ++count;
    }
    knobs->dynamic_count = count;
    return {};
  }

  Result<> attach() override {
    BpfLog log;
    bpf_link* link = bpf_program__attach_tracepoint(skeleton()->progs.on_tracepoint,
                                                    format_.system.c_str(), format_.name.c_str());
    if (!link)
      return log.failure(fmt::format("attaching to {}:{}", format_.system, format_.name), errno);
    keep(Link(link));
    return {};
  }

  void decode(uint32_t type, const void* data, size_t size) override {
    const auto r = record_as<tracepoint_record>(data, size);
    if (type != TRACE_TRACEPOINT || !r || !followed().wants(r->head.pid, r->head.verdict)) return;
    const std::string_view record(static_cast<const char*>(data) + sizeof(*r),
                                  std::min<size_t>(r->length, size - sizeof(*r)));
    EventLine line;
    line.at = r->head.at;
    line.fields = begin_fields("tracepoint", r->head);
    line.fields["event"] = format_.system + ":" + format_.name;
    Json own = Json::object();
    std::vector<std::pair<std::string, std::string>> texts;
    for (const TracepointField& field : format_.fields) {
      int64_t number = 0;
      std::string text = field_text(field, record);
      if (field_number(field, record, number))
        own[field.name] = field.is_signed ? Json(number) : Json(static_cast<uint64_t>(number));
      else
        own[field.name] = text;
      texts.emplace_back(field.name, std::move(text));
    }
    line.fields["fields"] = std::move(own);
    const std::string job = print_ && print_->uses("job") ? followed().job_of(r->head.pid) : "";
    const auto value = [&](const std::string& name) {
      for (const auto& [field, text] : texts)
        if (field == name) return text;
      return common_text(name, r->head, format_.name, job).value_or("");
    };
    line.cells = own_cells(print_, r->head, texts, value);
    if (print_) line.fields["text"] = line.cells[0];
    emit(std::move(line));
  }

 private:
  TracepointFormat format_;
  std::optional<PrintFormat> print_;
};

}  // namespace

Result<std::unique_ptr<Tracer>> tracepoint_tracer(const TraceOptions& options, JobFinder& finder,
                                                  const std::string& tracepoint,
                                                  const std::string& print) {
  TracepointFormat format = TRY(read_format(TRY(find_tracefs()), tracepoint));
  std::optional<PrintFormat> parsed;
  if (!print.empty()) {
    std::vector<std::string> known;
    for (const TracepointField& field : format.fields) known.push_back(field.name);
    for (const std::string& name : common_names()) known.push_back(name);
    parsed = TRY(PrintFormat::parse(print, known));
  }
  return std::unique_ptr<Tracer>(
      std::make_unique<TracepointTracer>(options, finder, std::move(format), std::move(parsed)));
}

}  // namespace jobscope
