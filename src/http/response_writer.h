// Responses as bytes.
#pragma once

#include <ctime>
#include <string>

#include "src/http/message.h"

namespace jobscope {

// Packs the body with gzip if the request's Accept-Encoding allows it, the body has at least
// `from` bytes, its kind is worth it and it is not packed yet. Adds Vary where that may differ.
void compress_response(HttpResponse& response, std::string_view accept_encoding, size_t from,
                       int level);

struct HeadOptions {
  bool keep_alive = true;
  bool old_client = false;            // HTTP/1.0: keeping alive must be said
  const HttpHeaders* more = nullptr;  // headers that each response has
  std::time_t now = 0;
};
// Status line and headers, to the empty line. Content-Length is that of the body. Control
// characters in headers become spaces.
std::string response_head(const HttpResponse& response, const HeadOptions& options);

// Whether a response of this status has a body at all.
bool may_have_body(int status);

}  // namespace jobscope
