// Addresses of resources, http:// and https://.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/result.h"

namespace jobscope {

struct Url {
  bool tls = false;
  std::string host;  // without brackets
  uint16_t port = 0;
  std::string target;  // path and query, from '/'; no fragment

  // "host", "host:8080", "[::1]:8080": for the header Host. The scheme's own port is left out.
  std::string authority() const;
};

// A user and password in it, spaces and control characters are errors.
Result<Url> parse_url(std::string_view text);

}  // namespace jobscope
