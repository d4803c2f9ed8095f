// Lays out the lines of a trace, one at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/model/event_line.h"
#include "src/output/terminal.h"

namespace jobscope {

class EventLayout {
 public:
  // `columns` come after the time, which takes `time_width`. On a terminal (`fit`) whole columns go
  // and the last one is shortened so that a line fits; a file gets all.
  EventLayout(std::vector<EventColumn> columns, size_t time_width, const TextStyle& style,
              bool fit);
  std::string header() const;
  std::string line(std::string_view time, const EventLine& event) const;

 private:
  std::string row(std::string_view time, const std::vector<std::string>& cells) const;

  std::vector<EventColumn> columns_;
  size_t time_width_;
  TextStyle style_;
  bool fit_;
  std::vector<bool> shown_;
};

}  // namespace jobscope
