#include "src/cli/command.h"
namespace jobscope {
const Command trace_command{"trace", "x", 2, [](CLI::App&, const Invocation&) { return std::function<Result<int>()>([]() -> Result<int> { return 0; }); }};
}
