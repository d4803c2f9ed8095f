// gzip, and when a client wants it.
#pragma once

#include <string>
#include <string_view>

#include "src/base/result.h"

namespace jobscope {

// Whether an Accept-Encoding header allows gzip (RFC 9110, 12.5.3): named, or meant by "*", with a
// weight above 0 that is not below that of "identity".
bool accepts_gzip(std::string_view accept_encoding);

// `level` from 1 (fast) to 9.
Result<std::string> gzip(std::string_view bytes, int level);

// The opposite, of one member. Fails when there would be more than `most` bytes.
Result<std::string> gunzip(std::string_view bytes, size_t most);

}  // namespace jobscope
