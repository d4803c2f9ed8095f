#include "src/output/otlp.h"

#include <algorithm>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <string_view>

#include "src/base/utf8.h"

namespace jobscope {
namespace {

using protozero::pbf_writer;

// Numbers of fields, from opentelemetry-proto 1.x. They cannot change: the protocol is stable.

// collector/trace/v1/trace_service.proto: ExportTraceServiceRequest
constexpr protozero::pbf_tag_type kRequestResourceSpans = 1;
// trace/v1/trace.proto: ResourceSpans, ScopeSpans, Span
constexpr protozero::pbf_tag_type kResourceSpansResource = 1, kResourceSpansScopeSpans = 2;
constexpr protozero::pbf_tag_type kScopeSpansScope = 1, kScopeSpansSpans = 2;
constexpr protozero::pbf_tag_type kSpanTraceId = 1, kSpanSpanId = 2, kSpanParentSpanId = 4,
                                  kSpanName = 5, kSpanKind = 6, kSpanStart = 7, kSpanEnd = 8,
                                  kSpanAttributes = 9;
constexpr int kSpanKindInternal = 1;
// resource/v1/resource.proto: Resource; common/v1/common.proto: InstrumentationScope, KeyValue,
// AnyValue
constexpr protozero::pbf_tag_type kResourceAttributes = 1;
constexpr protozero::pbf_tag_type kScopeName = 1, kScopeVersion = 2;
constexpr protozero::pbf_tag_type kKeyValueKey = 1, kKeyValueValue = 2;
constexpr protozero::pbf_tag_type kAnyValueString = 1;

// collector/trace/v1/trace_service.proto: ExportTraceServiceResponse, ExportTracePartialSuccess
constexpr protozero::pbf_tag_type kResponsePartialSuccess = 1;
constexpr protozero::pbf_tag_type kPartialRejectedSpans = 1, kPartialMessage = 2;

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// A protobuf string must be UTF-8, or the receiver refuses the whole request.
void add_text(pbf_writer& to, protozero::pbf_tag_type tag, std::string_view text) {
  if (valid_utf8(text)) {
    to.add_string(tag, text.data(), text.size());
    return;
  }
  std::string repaired;
  while (!text.empty()) {
    const Character character = first_character(text);
    repaired += character.valid ? text.substr(0, character.bytes) : kReplacement;
    text.remove_prefix(character.bytes);
  }
  to.add_string(tag, repaired);
}

template <class Attributes>
void add_attributes(pbf_writer& to, protozero::pbf_tag_type tag, const Attributes& attributes) {
  for (const auto& [key, value] : attributes) {
    pbf_writer pair(to, tag);
    add_text(pair, kKeyValueKey, key);
    pbf_writer any(pair, kKeyValueValue);
    add_text(any, kAnyValueString, value);
  }
}

template <class Id>
void add_id(pbf_writer& to, protozero::pbf_tag_type tag, const Id& id) {
  to.add_bytes(tag, reinterpret_cast<const char*>(id.data()), id.size());
}

void add_span(pbf_writer& to, const Span& span) {
  pbf_writer out(to, kScopeSpansSpans);
  add_id(out, kSpanTraceId, span.trace_id);
  add_id(out, kSpanSpanId, span.span_id);
  const auto& parent = span.parent_span_id;
  if (std::any_of(parent.begin(), parent.end(), [](uint8_t byte) { return byte != 0; }))
    add_id(out, kSpanParentSpanId, parent);
  add_text(out, kSpanName, span.name);
  out.add_enum(kSpanKind, kSpanKindInternal);
  out.add_fixed64(kSpanStart, span.start_unix_ns);
  out.add_fixed64(kSpanEnd, span.end_unix_ns);
  add_attributes(out, kSpanAttributes, span.attributes);
}

}  // namespace

std::string encode_traces(std::span<const ResourceSpans> resources) {
  std::string bytes;
  pbf_writer request(bytes);
  for (const ResourceSpans& one : resources) {
    if (one.spans.empty()) continue;
    pbf_writer out(request, kRequestResourceSpans);
    {
      pbf_writer resource(out, kResourceSpansResource);
      add_attributes(resource, kResourceAttributes, one.attributes);
    }
    pbf_writer scope_spans(out, kResourceSpansScopeSpans);
    {
      pbf_writer scope(scope_spans, kScopeSpansScope);
      scope.add_string(kScopeName, "jobscope");
      scope.add_string(kScopeVersion, JOBSCOPE_VERSION);
    }
    for (const Span& span : one.spans) add_span(scope_spans, span);
  }
  return bytes;
}

std::optional<PartialSuccess> decode_partial_success(std::string_view bytes) {
  PartialSuccess result;
  try {  // protozero's exceptions end here
    protozero::pbf_reader response(bytes.data(), bytes.size());
    while (response.next(kResponsePartialSuccess)) {
      protozero::pbf_reader partial = response.get_message();
      while (partial.next()) {
        if (partial.tag() == kPartialRejectedSpans)
          result.rejected_spans = static_cast<uint64_t>(std::max<int64_t>(0, partial.get_int64()));
        else if (partial.tag() == kPartialMessage)
          result.message = partial.get_string();
        else
          partial.skip();
      }
    }
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
  return result;
}

}  // namespace jobscope
