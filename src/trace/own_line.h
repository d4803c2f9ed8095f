// Lines of events that a person chose: fields by name, printed as they want them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/model/event_line.h"
#include "src/trace/print_format.h"
#include "src/trace/records.h"

namespace jobscope {

// What every event has beside its own fields; one of the event's own of the same name comes first.
std::vector<std::string> common_names();
std::optional<std::string> common_text(const std::string& name, const trace_head& head,
                                       const std::string& event, const std::string& job);

// The columns, and a line: the person's format alone, or who and all fields.
std::vector<EventColumn> own_columns(bool formatted);
std::vector<std::string> own_cells(const std::optional<PrintFormat>& format, const trace_head& head,
                                   const std::vector<std::pair<std::string, std::string>>& fields,
                                   const std::function<std::string(const std::string&)>& value);

}  // namespace jobscope
