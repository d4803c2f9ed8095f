// Reads what encode_traces() wrote, by protozero's reader.
#pragma once

#include <map>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>

namespace jobscope {

struct DecodedSpan {
  std::string trace_id, span_id, parent_span_id, name;
  uint64_t start = 0, end = 0;
  int kind = 0;
  std::map<std::string, std::string> attributes;
};
struct DecodedResource {
  std::map<std::string, std::string> attributes;
  std::string scope;
  std::vector<DecodedSpan> spans;
};

inline void decode_attribute(protozero::pbf_reader pair, std::map<std::string, std::string>& into) {
  std::string key, value;
  while (pair.next()) {
    if (pair.tag() == 1) {
      key = pair.get_string();
    } else {
      protozero::pbf_reader any = pair.get_message();
      any.next(1);
      value = any.get_string();
    }
  }
  into[key] = value;
}

inline DecodedSpan decode_span(protozero::pbf_reader span) {
  DecodedSpan s;
  while (span.next()) {
    switch (span.tag()) {
      case 1: s.trace_id = span.get_bytes(); break;
      case 2: s.span_id = span.get_bytes(); break;
      case 4: s.parent_span_id = span.get_bytes(); break;
      case 5: s.name = span.get_string(); break;
      case 6: s.kind = span.get_enum(); break;
      case 7: s.start = span.get_fixed64(); break;
      case 8: s.end = span.get_fixed64(); break;
      case 9: decode_attribute(span.get_message(), s.attributes); break;
      default: span.skip();
    }
  }
  return s;
}

inline std::vector<DecodedResource> decode_traces(const std::string& bytes) {
  std::vector<DecodedResource> resources;
  protozero::pbf_reader request(bytes);
  while (request.next(1)) {
    DecodedResource& r = resources.emplace_back();
    protozero::pbf_reader one = request.get_message();
    while (one.next()) {
      const bool resource = one.tag() == 1;  // a debug build forgets it once the value is taken
      protozero::pbf_reader part = one.get_message();
      while (part.next()) {
        if (resource && part.tag() == 1) {
          decode_attribute(part.get_message(), r.attributes);
        } else if (!resource && part.tag() == 2) {
          r.spans.push_back(decode_span(part.get_message()));
        } else {
          protozero::pbf_reader scope = part.get_message();
          while (scope.next()) {
            const bool name = scope.tag() == 1;
            const std::string text = scope.get_string();
            if (name) r.scope = text;
          }
        }
      }
    }
  }
  return resources;
}

}  // namespace jobscope
