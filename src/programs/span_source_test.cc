#include "src/programs/span_source.h"

#include <gmock/gmock.h>

namespace jobscope {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

const ClockOffset kClocks{1'700'000'000'000'000'000, 5'000'000'000};

Result<Span> made(const std::vector<std::string>& names, const std::vector<std::string>& values) {
  SpanConfig config;
  config.name = "block_io";
  return make_span(config, "biotrace", names, values, kClocks);
}

TEST(MakeSpan, of_labels_with_a_meaning_and_others) {
  const auto span = made({"trace_id", "span_id", "parent_span_id", "span_monotonic_timestamp_ns",
                          "span_duration_ns", "device", "span_name"},
                         {"000102030405060708090a0b0c0d0e0f", "1011121314151617",
                          "0000000000000000", "4000000000", "23", "vda", "read"});
  ASSERT_TRUE(span) << span.error().what;
  EXPECT_EQ(span->trace_id[15], 15);
  EXPECT_EQ(span->span_id[0], 0x10);
  EXPECT_THAT(span->parent_span_id, Each(0));
  EXPECT_EQ(span->name, "read");
  EXPECT_EQ(span->start_unix_ns, 1'699'999'999'000'000'000u);
  EXPECT_EQ(span->end_unix_ns, span->start_unix_ns + 23);
  EXPECT_THAT(span->attributes,
              ElementsAre(Pair("device", "vda"), Pair("ebpf_exporter.config", "biotrace")));
}

TEST(MakeSpan, what_is_missing_is_chosen) {
  const auto one = made({}, {}), other = made({"trace_id"}, {std::string(32, '0')});
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->name, "block_io");
  EXPECT_EQ(one->start_unix_ns, kClocks.unix_ns);
  EXPECT_THAT(one->trace_id, Not(Each(0)));
  EXPECT_NE(one->trace_id, other->trace_id);
  EXPECT_NE(one->span_id, other->span_id);
}

TEST(MakeSpan, what_is_no_id_or_number_is_an_error) {
  EXPECT_THAT(made({"trace_id"}, {"0011"}).error().what, HasSubstr("32 hexadecimal digits"));
  EXPECT_THAT(made({"span_id"}, {"zz11121314151617"}).error().what, HasSubstr("hexadecimal"));
  EXPECT_THAT(made({"span_duration_ns"}, {"soon"}).error().what, HasSubstr("must be a number"));
}

}  // namespace
}  // namespace jobscope
