// What to call a job.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace jobscope {

// "train" for {"python3", "-u", "src/train.py", …} and {"python", "-m", "train"}, else the base
// name of the command.
std::string job_name(const std::vector<std::string>& argv);

// Whether a command line is ours: `jobscope` with any command.
bool is_jobscope(const std::vector<std::string>& argv);
// The name of the job that `jobscope run [--name NAME] [options] [--] CMD…` runs; empty if the
// command line is none of that.
std::optional<std::string> name_of_run(const std::vector<std::string>& argv);

}  // namespace jobscope
