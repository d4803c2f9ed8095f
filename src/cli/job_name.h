// What to call a job.
#pragma once

#include <string>
#include <vector>

namespace jobscope {

// "train" for {"python3", "-u", "src/train.py", …} and {"python", "-m", "train"}, else the base
// name of the command.
std::string job_name(const std::vector<std::string>& argv);

}  // namespace jobscope
