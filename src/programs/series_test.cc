#include "src/programs/series.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "src/programs/sources_for_test.h"

namespace jobscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using namespace std::string_literals;

struct Row {
  std::string key;
  std::vector<uint64_t> values;
};

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

LabelConfig label(const std::string& name, uint32_t offset, uint32_t size,
                  const std::string& decoder = "uint") {
  LabelConfig label;
  label.name = name;
  label.offset = offset;
  label.size = size;
  label.decoders.resize(1);
  label.decoders[0].name = decoder;
  return label;
}

Result<MetricFamily> read(Series& series, const std::vector<Row>& rows, uint64_t now = 0) {
  series.begin(now);
  for (const Row& row : rows)
    if (const auto added = series.add(row.key, row.values); !added)
      return tl::unexpected(added.error());
  return series.family();
}

Result<Series> counter(const std::vector<LabelConfig>& labels, MapShape shape,
                       SeriesLimits limits = {}) {
  CounterConfig config;
  config.name = "reads_total";
  config.help = "Reads.";
  config.labels = labels;
  static const SourcesForTest sources;
  return Series::of_counter(config, shape, sources, limits);
}

Result<MetricFamily> counted(const std::vector<LabelConfig>& labels, const std::vector<Row>& rows,
                             MapShape shape) {
  Series series = TRY(counter(labels, shape));
  return read(series, rows);
}

HistogramConfig histogram(BucketType type, int64_t min, int64_t max) {
  HistogramConfig config;
  config.name = "latency";
  config.help = "Latency.";
  config.type = type;
  config.min = min;
  config.max = max;
  config.labels = {label("bucket", 0, 4)};
  return config;
}

Result<MetricFamily> made(const HistogramConfig& config, const std::vector<Row>& rows,
                          uint32_t key_size = 4) {
  static const SourcesForTest sources;
  Series series = TRY(Series::of_histogram(config, {key_size}, sources));
  return read(series, rows);
}

TEST(HistogramSeries, le_is_no_name_of_a_label) {
  HistogramConfig config = histogram(BucketType::linear, 0, 2);
  config.labels = {label("le", 0, 4), label("bucket", 4, 4)};
  EXPECT_THAT(made(config, {}, 8).error().what, HasSubstr("'le'"));
  config.labels = {label("le", 0, 4)};  // the last one is not shown
  EXPECT_TRUE(made(config, {}));
}

// The bounds of these are all infinite.
TEST(HistogramSeries, buckets_of_the_same_bound_are_one) {
  const auto family = made(histogram(BucketType::exp2, 1023, 1030),
                           {{raw<uint32_t>(1023), {3}}, {raw<uint32_t>(1025), {5}}});
  ASSERT_TRUE(family);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(family->histograms[0].buckets,
              ElementsAre(Pair(std::exp2(1023), 3), Pair(kInfinity, 8)));
}

TEST(CounterSeries, one_for_each_label_set_in_order) {
  const auto family = counted({label("op", 0, 1), label("name", 1, 4, "string")},
                              {{"\2abc"s + "\0"s, {5}}, {"\1abc"s + "\0"s, {23}}}, {5});
  ASSERT_TRUE(family) << family.error().what;
  EXPECT_EQ(family->name, "ebpf_exporter_reads_total");
  ASSERT_EQ(family->samples.size(), 2u);
  EXPECT_THAT(family->samples[0].labels, ElementsAre(Pair("op", "1"), Pair("name", "abc")));
  EXPECT_EQ(family->samples[0].value, 23);
}

TEST(CounterSeries, rows_of_the_same_labels_are_added) {
  const auto family =
      counted({label("name", 0, 4, "string")}, {{"ab\0x"s, {3}}, {"ab\0y"s, {4}}}, {4});
  ASSERT_TRUE(family);
  ASSERT_EQ(family->samples.size(), 1u);
  EXPECT_EQ(family->samples[0].value, 7);
}

TEST(CounterSeries, without_labels_only_key_0_counts) {
  const auto family = counted({}, {{raw<uint32_t>(1), {5}}, {raw<uint32_t>(0), {23}}}, {4});
  ASSERT_TRUE(family);
  ASSERT_EQ(family->samples.size(), 1u);
  EXPECT_TRUE(family->samples[0].labels.empty());
  EXPECT_EQ(family->samples[0].value, 23);
}

TEST(CounterSeries, cpus_are_summed_or_series_of_their_own) {
  const std::vector<Row> rows = {{"\7"s, {2, 3, 5}}};
  const auto summed = counted({label("op", 0, 1)}, rows, {1, true});
  ASSERT_EQ(summed->samples.size(), 1u);
  EXPECT_EQ(summed->samples[0].value, 10);

  const auto apart = counted({label("op", 0, 1), label("cpu", 1, 2)}, rows, {1, true});
  ASSERT_TRUE(apart) << apart.error().what;
  ASSERT_EQ(apart->samples.size(), 3u);
  EXPECT_THAT(apart->samples[2].labels, ElementsAre(Pair("op", "7"), Pair("cpu", "2")));
  EXPECT_EQ(apart->samples[2].value, 5);

  const auto alone = counted({label("cpu", 0, 2)}, {{raw<uint32_t>(0), {2, 3}}}, {4, true});
  ASSERT_TRUE(alone) << alone.error().what;
  ASSERT_EQ(alone->samples.size(), 2u);
  EXPECT_THAT(alone->samples[1].labels, ElementsAre(Pair("cpu", "1")));
}

TEST(CounterSeries, a_key_of_another_size_is_an_error) {
  EXPECT_THAT(counted({label("op", 0, 4)}, {{"\1"s, {1}}}, {4}).error().what,
              HasSubstr("the map's key has 1 bytes, the labels 4"));
  EXPECT_THAT(counted({label("op", 0, 4)}, {}, {1}).error().what, HasSubstr("ends at byte 4"));
}

TEST(CounterSeries, a_gauge_may_be_negative) {
  CounterConfig config;
  config.name = "balance";
  config.gauge = true;
  const SourcesForTest sources;
  auto series = Series::of_counter(config, {4, false, true}, sources);
  const auto family = read(*series, {{raw<uint32_t>(0), {static_cast<uint64_t>(-7)}}});
  EXPECT_EQ(family->type, MetricType::gauge);
  EXPECT_EQ(family->samples[0].value, -7);
}

TEST(CounterSeries, a_reading_shows_what_is_there_and_forgets_the_rest_in_time) {
  auto series = counter({label("id", 0, 4)}, {4});
  std::vector<Row> many;
  for (uint32_t i = 0; i < 5000; ++i) many.push_back({raw(i), {1}});
  EXPECT_EQ(read(*series, many)->samples.size(), 5000u);
  EXPECT_EQ(series->cached_keys(), 5000u);
  const auto one = read(*series, {{raw<uint32_t>(7), {3}}});
  ASSERT_EQ(one->samples.size(), 1u);
  EXPECT_EQ(one->samples[0].value, 3);
  EXPECT_EQ(read(*series, {{raw<uint32_t>(7), {4}}})->samples[0].value, 4);
  EXPECT_EQ(series->cached_keys(), 1u);
}

TEST(CounterSeries, too_many_series_are_dropped_and_counted) {
  SeriesLimits limits;
  limits.series = 3;
  limits.cached_keys = 2;
  auto series = counter({label("id", 0, 4)}, {4}, limits);
  std::vector<Row> rows;
  for (uint32_t i = 0; i < 10; ++i) rows.push_back({raw(i), {i}});
  EXPECT_EQ(read(*series, rows)->samples.size(), 3u);
  EXPECT_EQ(series->dropped_rows(), 7u);
  EXPECT_LE(series->cached_keys(), 2u);
  // Those of the first reading keep their place; when they are gone, others come.
  EXPECT_EQ(read(*series, rows)->samples.size(), 3u);
  EXPECT_EQ(series->dropped_rows(), 14u);
  EXPECT_EQ(read(*series, {rows[8], rows[9]})->samples.size(), 0u);
  EXPECT_EQ(read(*series, {rows[8], rows[9]})->samples.size(), 2u);
}

TEST(CounterSeries, of_a_job_add_together) {
  LabelConfig pid = label("pid", 0, 4);
  pid.decoders.clear();
  pid.job = JobKey::process;
  const auto family = counted(
      {pid}, {{raw<uint32_t>(23), {2}}, {raw<uint32_t>(29), {3}}, {raw<uint32_t>(1), {5}}}, {4});
  ASSERT_TRUE(family) << family.error().what;
  ASSERT_EQ(family->samples.size(), 2u);
  EXPECT_THAT(family->samples[1].labels,
              ElementsAre(Pair("job", "lenet"), Pair("user", "ann"), Pair("role", ""),
                          Pair("index", ""), Pair("instance", "")));
  EXPECT_EQ(family->samples[1].value, 5);
}

TEST(CounterSeries, a_job_keeps_what_its_ended_processes_did) {
  constexpr uint64_t kMinute = 60'000'000'000;
  LabelConfig pid = label("pid", 0, 4);
  pid.decoders.clear();
  pid.job = JobKey::process;
  auto series = counter({pid}, {4});
  ASSERT_TRUE(series);
  EXPECT_EQ(series->process_of(raw<uint32_t>(23)), 23u);
  const auto total = [&](uint64_t minutes, const std::vector<Row>& rows) {
    const auto family = read(*series, rows, minutes * kMinute);
    return family->samples.empty() ? -1 : family->samples[0].value;
  };
  EXPECT_EQ(total(100, {{raw<uint32_t>(23), {7}}, {raw<uint32_t>(29), {3}}}), 10);
  series->begin(101 * kMinute);
  const uint64_t seven = 7, three = 3;
  ASSERT_TRUE(series->retire(raw<uint32_t>(23), {&seven, 1}));
  ASSERT_TRUE(series->add(raw<uint32_t>(29), {&three, 1}));
  EXPECT_EQ(series->family().samples[0].value, 10);
  EXPECT_EQ(total(102, {{raw<uint32_t>(29), {4}}}), 11);
  EXPECT_EQ(total(150, {}), 7);
  EXPECT_EQ(total(151, {{raw<uint32_t>(29), {1}}}), 8);
  EXPECT_EQ(total(210, {}), 7);   // an hour after its last row
  EXPECT_EQ(total(280, {}), -1);  // it is forgotten
}

TEST(CounterSeries, a_job_keeps_the_values_of_each_cpu_without_a_cache_too) {
  LabelConfig pid = label("pid", 0, 4), cpu = label("cpu", 4, 2);
  pid.decoders.clear();
  pid.job = JobKey::process;
  SeriesLimits limits;
  limits.cached_keys = 0;
  auto series = counter({pid, cpu}, {4, true}, limits);
  ASSERT_TRUE(series) << series.error().what;
  series->begin(1);
  const uint64_t counts[] = {7, 3};
  ASSERT_TRUE(series->retire(raw<uint32_t>(23), counts));
  const auto family = read(*series, {{raw<uint32_t>(23), {1, 0}}}, 2);
  ASSERT_EQ(family->samples.size(), 2u);
  EXPECT_EQ(family->samples[0].value, 8);
  EXPECT_EQ(family->samples[1].value, 3);
}

TEST(CounterSeries, a_multiplier_makes_seconds_of_nanoseconds) {
  CounterConfig config;
  config.multiplier = 1e-9;
  const SourcesForTest sources;
  auto series = Series::of_counter(config, {4}, sources);
  EXPECT_DOUBLE_EQ(read(*series, {{raw<uint32_t>(0), {23'000'000}}})->samples[0].value, 0.023);
}

TEST(CounterSeries, what_may_change_is_asked_again) {
  static int asked;
  asked = 0;
  class Changing : public SourcesForTest {
   public:
    std::string interface_name(uint32_t) const override { return "eth" + std::to_string(asked++); }
  };
  const Changing sources;
  CounterConfig config;
  config.labels = {label("if", 0, 4, "ifname")};
  auto series = Series::of_counter(config, {4}, sources);
  const std::vector<Row> rows = {{raw<uint32_t>(1), {1}}};
  constexpr uint64_t kSecond = 1'000'000'000;
  EXPECT_EQ(read(*series, rows, 100 * kSecond)->samples[0].labels[0].second, "eth0");
  EXPECT_EQ(read(*series, rows, 101 * kSecond)->samples[0].labels[0].second, "eth0");
  EXPECT_EQ(read(*series, rows, 200 * kSecond)->samples[0].labels[0].second, "eth1");
}

TEST(HistogramSeries, exp2_is_cumulative_with_the_sum_behind_it) {
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

TEST(HistogramSeries, the_other_bounds) {
  const std::vector<Row> rows = {{raw<uint32_t>(1), {1}}};
  EXPECT_THAT(made(histogram(BucketType::exp2zero, 0, 3), rows)->histograms[0].buckets,
              ElementsAre(Pair(0, 0), Pair(1, 1), Pair(2, 1), Pair(4, 1)));
  EXPECT_THAT(made(histogram(BucketType::linear, 1, 3), rows)->histograms[0].buckets,
              ElementsAre(Pair(1, 1), Pair(2, 1), Pair(3, 1)));
  HistogramConfig fixed = histogram(BucketType::fixed, 0, 0);
  fixed.keys = {1, 2.5, 100};
  const auto family =
      made(fixed, {{raw<uint32_t>(1), {1}}, {raw<uint32_t>(2), {9}}, {raw<uint32_t>(101), {42}}});
  EXPECT_THAT(family->histograms[0].buckets, ElementsAre(Pair(1, 1), Pair(2.5, 1), Pair(100, 1)));
  EXPECT_EQ(family->histograms[0].sum, 42);
}

TEST(HistogramSeries, is_grouped_by_all_labels_but_the_last) {
  HistogramConfig config = histogram(BucketType::linear, 0, 1);
  config.labels = {label("op", 0, 1), label("bucket", 1, 4)};
  const auto family =
      made(config, {{"\1" + raw<uint32_t>(0), {2}}, {"\2" + raw<uint32_t>(1), {3}}}, 5);
  ASSERT_TRUE(family) << family.error().what;
  ASSERT_EQ(family->histograms.size(), 2u);
  EXPECT_THAT(family->histograms[1].labels, ElementsAre(Pair("op", "2")));
  EXPECT_EQ(family->histograms[1].count, 3);
}

TEST(HistogramSeries, what_cannot_be_is_an_error) {
  EXPECT_THAT(made(histogram(BucketType::exp2, 3, 3), {}).error().what, HasSubstr("bucket_max"));
  EXPECT_THAT(made(histogram(BucketType::fixed, 0, 0), {}).error().what, HasSubstr("bucket_keys"));
  EXPECT_THAT(made(histogram(BucketType::linear, 0, 1'000'000), {}).error().what,
              HasSubstr("more than 4096 buckets"));
  HistogramConfig text = histogram(BucketType::linear, 0, 1);
  text.labels = {label("bucket", 0, 4, "string")};
  EXPECT_THAT(made(text, {{"abcd", {1}}}).error().what, HasSubstr("no integer"));
}

}  // namespace
}  // namespace jobscope
