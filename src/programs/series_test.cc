#include "src/programs/series.h"

#include <gmock/gmock.h>

namespace jobscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using namespace std::string_literals;

class NoSources : public DecoderSources {
 public:
  std::string interface_name(uint32_t) const override { return {}; }
  std::string block_device(uint32_t, uint32_t) const override { return {}; }
  std::string kernel_symbol(uint64_t) const override { return {}; }
  std::string cgroup_path(uint64_t) const override { return {}; }
  std::string pci_name(std::string_view, uint32_t) const override { return {}; }
};
const NoSources kSources;

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

LabelConfig label(const std::string& name, uint32_t size, const std::string& decoder = "uint") {
  return {name, size, 0, {{decoder, {}, false, {}, false}}};
}

Result<MetricFamily> counted(const std::vector<LabelConfig>& labels,
                             const std::vector<MapRow>& rows, bool per_cpu = false) {
  CounterConfig config;
  config.name = "reads_total";
  config.help = "Reads.";
  config.labels = labels;
  return counter_family(config, *KeyDecoder::make(labels, kSources), rows, per_cpu);
}

HistogramConfig histogram(BucketType type, int64_t min, int64_t max) {
  HistogramConfig config;
  config.name = "latency";
  config.help = "Latency.";
  config.type = type;
  config.min = min;
  config.max = max;
  config.labels = {label("bucket", 4)};
  return config;
}

Result<MetricFamily> made(const HistogramConfig& config, const std::vector<MapRow>& rows) {
  return histogram_family(config, *KeyDecoder::make(config.labels, kSources), rows, false);
}

TEST(CounterFamily, a_series_for_each_label_set) {
  const auto family = counted({label("op", 1), label("name", 4, "string")},
                              {{"\1abc"s + "\0"s, {23}}, {"\2abc"s + "\0"s, {5}}});
  ASSERT_TRUE(family) << family.error().what;
  EXPECT_EQ(family->name, "ebpf_exporter_reads_total");
  ASSERT_EQ(family->samples.size(), 2u);
  EXPECT_THAT(family->samples[0].labels, ElementsAre(Pair("op", "1"), Pair("name", "abc")));
  EXPECT_EQ(family->samples[0].value, 23);
}

TEST(CounterFamily, rows_of_the_same_labels_are_added) {
  const auto family = counted({label("name", 4, "string")}, {{"ab\0x"s, {3}}, {"ab\0y"s, {4}}});
  ASSERT_TRUE(family);
  ASSERT_EQ(family->samples.size(), 1u);
  EXPECT_EQ(family->samples[0].value, 7);
}

TEST(CounterFamily, without_labels_only_key_0_counts) {
  const auto family = counted({}, {{raw<uint32_t>(1), {5}}, {raw<uint32_t>(0), {23}}});
  ASSERT_TRUE(family);
  ASSERT_EQ(family->samples.size(), 1u);
  EXPECT_TRUE(family->samples[0].labels.empty());
  EXPECT_EQ(family->samples[0].value, 23);
}

TEST(CounterFamily, cpus_are_summed_or_series_of_their_own) {
  const std::vector<MapRow> rows = {{"\7"s, {2, 3, 5}}};
  const auto summed = counted({label("op", 1)}, rows, true);
  ASSERT_EQ(summed->samples.size(), 1u);
  EXPECT_EQ(summed->samples[0].value, 10);

  const auto apart = counted({label("op", 1), label("cpu", 2)}, rows, true);
  ASSERT_EQ(apart->samples.size(), 3u);
  EXPECT_THAT(apart->samples[2].labels, ElementsAre(Pair("op", "7"), Pair("cpu", "2")));
  EXPECT_EQ(apart->samples[2].value, 5);

  const auto alone = counted({label("cpu", 2)}, {{raw<uint32_t>(0), {2, 3}}}, true);
  ASSERT_TRUE(alone) << alone.error().what;
  ASSERT_EQ(alone->samples.size(), 2u);
  EXPECT_THAT(alone->samples[1].labels, ElementsAre(Pair("cpu", "1")));
}

TEST(CounterFamily, a_key_of_another_size_is_an_error) {
  EXPECT_THAT(counted({label("op", 4)}, {{"\1"s, {1}}}).error().what,
              HasSubstr("the map's key has 1 bytes, the labels 4"));
}

TEST(HistogramFamily, exp2_is_cumulative_with_the_sum_behind_it) {
  HistogramConfig config = histogram(BucketType::exp2, 0, 2);
  config.multiplier = 0.5;
  const auto family = made(config, {{raw<uint32_t>(0), {2}},
                                    {raw<uint32_t>(2), {3}},
                                    {raw<uint32_t>(3), {100}},
                                    {raw<uint32_t>(9), {7}}});
  ASSERT_TRUE(family) << family.error().what;
  ASSERT_EQ(family->histograms.size(), 1u);
  const HistogramSample& h = family->histograms[0];
  EXPECT_TRUE(h.labels.empty());
  EXPECT_THAT(h.buckets, ElementsAre(Pair(0.5, 2), Pair(1, 2), Pair(2, 5)));
  EXPECT_EQ(h.count, 5);
  EXPECT_EQ(h.sum, 50);
}

TEST(HistogramFamily, the_other_bounds) {
  const std::vector<MapRow> rows = {{raw<uint32_t>(1), {1}}};
  EXPECT_THAT(made(histogram(BucketType::exp2zero, 0, 3), rows)->histograms[0].buckets,
              ElementsAre(Pair(0, 0), Pair(1, 1), Pair(2, 1), Pair(4, 1)));
  EXPECT_THAT(made(histogram(BucketType::linear, 1, 3), rows)->histograms[0].buckets,
              ElementsAre(Pair(1, 1), Pair(2, 1), Pair(3, 1)));
  HistogramConfig fixed = histogram(BucketType::fixed, 0, 0);
  fixed.keys = {1, 10, 100};
  const auto family = made(fixed, {{raw<uint32_t>(1), {1}}, {raw<uint32_t>(101), {42}}});
  EXPECT_THAT(family->histograms[0].buckets, ElementsAre(Pair(1, 1), Pair(10, 1), Pair(100, 1)));
  EXPECT_EQ(family->histograms[0].sum, 42);
}

TEST(HistogramFamily, is_grouped_by_all_labels_but_the_last) {
  HistogramConfig config = histogram(BucketType::linear, 0, 1);
  config.labels = {label("op", 1), label("bucket", 4)};
  const auto family =
      made(config, {{"\1" + raw<uint32_t>(0), {2}}, {"\2" + raw<uint32_t>(1), {3}}});
  ASSERT_EQ(family->histograms.size(), 2u);
  EXPECT_THAT(family->histograms[1].labels, ElementsAre(Pair("op", "2")));
  EXPECT_EQ(family->histograms[1].count, 3);
}

TEST(HistogramFamily, what_cannot_be_is_an_error) {
  EXPECT_THAT(made(histogram(BucketType::exp2, 3, 3), {}).error().what, HasSubstr("bucket_max"));
  EXPECT_THAT(made(histogram(BucketType::fixed, 0, 0), {}).error().what, HasSubstr("bucket_keys"));
  EXPECT_THAT(made(histogram(BucketType::linear, 0, 1'000'000), {}).error().what,
              HasSubstr("more than 4096 buckets"));
  HistogramConfig text = histogram(BucketType::linear, 0, 1);
  text.labels = {label("bucket", 4, "string")};
  EXPECT_THAT(made(text, {{"abcd", {1}}}).error().what, HasSubstr("no integer"));
}

}  // namespace
}  // namespace jobscope
