#include "src/trace/own_line.h"

#include <cstring>

#include "src/trace/tracer_of.h"

namespace jobscope {

std::vector<std::string> common_names() {
  return {"comm", "pid", "tid", "cpu", "job", "event", "name"};
}

std::optional<std::string> common_text(const std::string& name, const trace_head& head,
                                       const std::string& event, const std::string& job) {
  if (name == "comm") return text_of(head.comm);
  if (name == "pid") return std::to_string(head.pid);
  if (name == "tid") return std::to_string(head.tid);
  if (name == "cpu") return std::to_string(head.cpu);
  if (name == "job") return job;
  if (name == "event" || name == "name") return event;
  return std::nullopt;
}

std::vector<EventColumn> own_columns(bool formatted) {
  if (formatted) return {{"EVENT", 40, false, 0}};
  return {{"PID", 7, true, 0},
          {"TID", 7, true, 3},
          {"COMMAND", 15, false, 0},
          {"FIELDS", 40, false, 0}};
}

std::vector<std::string> own_cells(const std::optional<PrintFormat>& format, const trace_head& head,
                                   const std::vector<std::pair<std::string, std::string>>& fields,
                                   const std::function<std::string(const std::string&)>& value) {
  if (format) return {format->print(value)};
  std::string all;
  for (const auto& [name, text] : fields)
    all.append(all.empty() ? "" : " ").append(name).append("=").append(text);
  return {std::to_string(head.pid), std::to_string(head.tid), text_of(head.comm), all};
}

}  // namespace jobscope
