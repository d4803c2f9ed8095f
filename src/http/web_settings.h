// What a web configuration file says: the format that the Prometheus exporters share
// (exporter-toolkit, docs/web-configuration.md).
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/http/message.h"
#include "src/http/tls_context.h"

namespace jobscope {

struct WebSettings {
  // TLS; absent: plain HTTP. Texts are here as they stand in the file, and those in files of their
  // own are empty.
  std::optional<TlsServerSettings> tls;
  std::string cert_file, key_file, client_ca_file;  // "": not used

  HttpHeaders headers;                       // added to each response
  std::map<std::string, std::string> users;  // bcrypt hashes; none: no password is asked for
  std::chrono::nanoseconds rate_interval{};  // one more request each; 0: no limit
  uint64_t rate_burst = 0;                   // and so many at once
};

// `path` is for messages ("PATH:LINE: what is wrong"), and relative names of files in it are taken
// from its folder. Unknown keys are errors; http2 is accepted and means nothing here.
Result<WebSettings> parse_web_settings(std::string_view yaml, const std::string& path);

}  // namespace jobscope
