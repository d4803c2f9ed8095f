// The format of --print: "{comm} {pid} nr={nr_sector}".
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/base/result.h"

namespace jobscope {

class PrintFormat {
 public:
  // {{ and }} stand for braces. A name that is not in `known` is an error that names the nearest.
  static Result<PrintFormat> parse(const std::string& text, const std::vector<std::string>& known);

  // `value` gives what a name stands for.
  std::string print(const std::function<std::string(const std::string&)>& value) const;
  bool uses(const std::string& name) const;

 private:
  struct Part {
    bool is_name;
    std::string text;
  };
  std::vector<Part> parts_;
};

}  // namespace jobscope
