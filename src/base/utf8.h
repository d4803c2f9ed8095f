// UTF-8, as Unicode 15 (table 3-7) has it: no overlong forms, no surrogates.
#pragma once

#include <cstddef>
#include <string_view>

namespace jobscope {

struct Character {
  char32_t code = 0;
  size_t bytes = 1;
  bool valid = false;  // false: one byte that begins no character
};

// The character at the start of `text`, which is not empty.
Character first_character(std::string_view text);

bool valid_utf8(std::string_view text);

}  // namespace jobscope
