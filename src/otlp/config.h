// Where spans go, by OpenTelemetry's standard environment variables.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/result.h"
#include "src/http/message.h"
#include "src/http/tls_context.h"

namespace jobscope {

struct OtlpConfig {
  bool enabled = true;  // false: OTEL_SDK_DISABLED=true or OTEL_TRACES_EXPORTER=none
  // OTEL_EXPORTER_OTLP_TRACES_ENDPOINT as it is, or OTEL_EXPORTER_OTLP_ENDPOINT with /v1/traces.
  std::string url = "http://localhost:4318/v1/traces";
  HttpHeaders headers;                       // OTEL_EXPORTER_OTLP_[TRACES_]HEADERS
  std::chrono::milliseconds timeout{10000};  // ..._TIMEOUT: of one request
  bool gzip = false;                         // ..._COMPRESSION=gzip
  TlsClientSettings tls;                     // ..._CERTIFICATE, _CLIENT_CERTIFICATE, _CLIENT_KEY
  std::string service;                       // OTEL_SERVICE_NAME
  std::vector<std::pair<std::string, std::string>> resource;  // OTEL_RESOURCE_ATTRIBUTES, the rest
  size_t queue_size = 2048;                                   // OTEL_BSP_MAX_QUEUE_SIZE: spans
  size_t batch_size = 512;                // OTEL_BSP_MAX_EXPORT_BATCH_SIZE: spans
  std::chrono::milliseconds delay{5000};  // OTEL_BSP_SCHEDULE_DELAY: till a batch is sent
  std::chrono::milliseconds export_time{
      30000};                                   // OTEL_BSP_EXPORT_TIMEOUT: a batch with all retries
  std::chrono::milliseconds first_retry{1000};  // doubled each time, with some chance
  std::vector<std::string> warnings;            // values that mean nothing and were left out
};

// The value of a variable; null: not set. As getenv().
using Environment = std::function<const char*(const char*)>;

// An empty value is as good as none. What cannot be done at all (gRPC) is an error; a value that
// cannot be read is a warning, as the specification wants. `service`: its name if nothing else is
// said.
Result<OtlpConfig> read_otlp_config(const Environment& environment, const std::string& service);

}  // namespace jobscope
