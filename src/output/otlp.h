// Spans as OpenTelemetry collectors take them: OTLP in protobuf.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/model/span.h"

namespace jobscope {

// The bytes of an ExportTraceServiceRequest, for POST /v1/traces with the content type
// application/x-protobuf. Resources without spans are left out. Bytes of texts that are not UTF-8
// become U+FFFD.
std::string encode_traces(std::span<const ResourceSpans> resources);

// What a collector says that it did not take, in its ExportTraceServiceResponse.
struct PartialSuccess {
  uint64_t rejected_spans = 0;
  std::string message;
};
// Empty if the bytes are none.
std::optional<PartialSuccess> decode_partial_success(std::string_view bytes);

}  // namespace jobscope
