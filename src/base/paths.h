// Paths as the kernel side tells them.
#pragma once

#include <string>
#include <string_view>

namespace jobscope {

// Joins components that come last first, each ending in NUL: "c\0b\0a\0" → "/a/b/c".
std::string join_reversed(std::string_view names);

}  // namespace jobscope
