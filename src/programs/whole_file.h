// A file that somebody else made, read whole.
#pragma once

#include <cstddef>
#include <string>

#include "src/base/result.h"

namespace jobscope {

// Only a regular file of at most `most` bytes: a pipe or a device would hold us up, or never end.
Result<std::string> read_whole(const std::string& path, size_t most);

}  // namespace jobscope
