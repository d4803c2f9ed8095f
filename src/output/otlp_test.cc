#include "src/output/otlp.h"

#include <gtest/gtest.h>

#include "src/output/otlp_for_test.h"

namespace jobscope {
namespace {

TEST(Otlp, bytes_of_one_span) {
  ResourceSpans resource;
  Span span;
  span.trace_id[0] = 0xaa;
  span.span_id[7] = 0xbb;
  span.name = "n";
  span.start_unix_ns = 1;
  span.end_unix_ns = 2;
  resource.spans = {span};
  const std::string bytes = encode_traces(std::vector{resource});
  // By hand, from the .proto files: the span itself.
  const std::string expected =
      std::string("\x0a\x10\xaa", 3) + std::string(15, '\0') +    // 1: trace_id, 16 bytes
      std::string("\x12\x08", 2) + std::string(7, '\0') + "\xbb"  // 2: span_id, 8 bytes
      + "\x2a\x01n" + "\x30\x01"                                  // 5: name; 6: kind
      + std::string("\x39\x01\0\0\0\0\0\0\0", 9)                  // 7: start, fixed64
      + std::string("\x41\x02\0\0\0\0\0\0\0", 9);                 // 8: end
  ASSERT_GT(bytes.size(), expected.size());
  EXPECT_EQ(bytes.substr(bytes.size() - expected.size()), expected);
}

TEST(Otlp, there_and_back) {
  std::vector<ResourceSpans> resources(3);
  resources[0].attributes = {{"service.name", "train"}, {"host.name", "node-1"}};
  for (int i = 0; i < 300; ++i) {
    Span span;
    span.trace_id.fill(static_cast<uint8_t>(i));
    span.span_id.fill(static_cast<uint8_t>(i + 1));
    if (i) span.parent_span_id.fill(static_cast<uint8_t>(7));
    span.name = "step " + std::to_string(i);
    span.start_unix_ns = 1'700'000'000'000'000'000 + static_cast<uint64_t>(i);
    span.end_unix_ns = span.start_unix_ns + 5;
    span.attributes = {{"k\xff", std::string(static_cast<size_t>(i) * 10, 'v')},
                       {"utf8", "\xC3\xA4\xED\xA0\x80"}};
    resources[0].spans.push_back(span);
  }
  resources[2].attributes = {{"service.name", "other"}};
  resources[2].spans.resize(1);
  const auto decoded = decode_traces(encode_traces(resources));
  ASSERT_EQ(decoded.size(), 2U);
  EXPECT_EQ(decoded[0].attributes.at("service.name"), "train");
  EXPECT_EQ(decoded[0].attributes.at("host.name"), "node-1");
  EXPECT_EQ(decoded[0].scope, "jobscope");
  ASSERT_EQ(decoded[0].spans.size(), 300U);
  const DecodedSpan& last = decoded[0].spans[299];
  EXPECT_EQ(last.trace_id, std::string(16, static_cast<char>(299)));
  EXPECT_EQ(last.span_id, std::string(8, static_cast<char>(300)));
  EXPECT_EQ(last.parent_span_id, std::string(8, '\7'));
  EXPECT_EQ(decoded[0].spans[0].parent_span_id, "");
  EXPECT_EQ(last.name, "step 299");
  EXPECT_EQ(last.kind, 1);
  EXPECT_EQ(last.start, 1'700'000'000'000'000'299U);
  EXPECT_EQ(last.end, last.start + 5);
  EXPECT_EQ(last.attributes.at("k\xEF\xBF\xBD"), std::string(2990, 'v'));
  EXPECT_EQ(last.attributes.at("utf8"), "\xC3\xA4\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(decoded[1].attributes.at("service.name"), "other");
  EXPECT_EQ(encode_traces({}), "");
}

TEST(Otlp, what_a_collector_rejects) {
  EXPECT_EQ(decode_partial_success("")->rejected_spans, 0U);
  const auto partial = decode_partial_success(std::string("\x0a\x06\x08\x07\x12\x02no", 8));
  ASSERT_TRUE(partial);
  EXPECT_EQ(partial->rejected_spans, 7U);
  EXPECT_EQ(partial->message, "no");
  EXPECT_FALSE(decode_partial_success("\x0a\x7f\x08"));
  EXPECT_FALSE(decode_partial_success("{}"));
}

}  // namespace
}  // namespace jobscope
