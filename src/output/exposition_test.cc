#include "src/output/exposition.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace jobscope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string exposed(const MetricFamily& family, Exposition format = Exposition::text) {
  std::string out;
  expose(std::span(&family, 1), format, out);
  return out;
}

MetricFamily gauge(double value) { return {"g", "Help.", MetricType::gauge, {{{}, value}}, {}}; }

TEST(Exposition, a_counter_with_labels) {
  const MetricFamily family{"reads_total",
                            "Reads.",
                            MetricType::counter,
                            {{{{"device", "vda"}, {"op", "read"}}, 23}, {{}, 1.5}},
                            {}};
  EXPECT_EQ(exposed(family),
            "# HELP reads_total Reads.\n"
            "# TYPE reads_total counter\n"
            "reads_total{device=\"vda\",op=\"read\"} 23\n"
            "reads_total 1.5\n");
  EXPECT_EQ(exposed(family, Exposition::openmetrics),
            "# HELP reads Reads.\n"
            "# TYPE reads counter\n"
            "reads_total{device=\"vda\",op=\"read\"} 23\n"
            "reads_total 1.5\n"
            "# EOF\n");
}

TEST(Exposition, a_counter_without_the_suffix_gets_it_in_openmetrics) {
  const MetricFamily family{"reads", "Reads.", MetricType::counter, {{{}, 1}}, {}};
  EXPECT_NE(exposed(family).find("\nreads 1\n"), std::string::npos);
  EXPECT_NE(exposed(family, Exposition::openmetrics).find("\nreads_total 1\n"), std::string::npos);
}

TEST(Exposition, a_histogram_has_a_bucket_for_all) {
  MetricFamily family{"latency_seconds", "Latency.", MetricType::histogram, {}, {}};
  family.histograms.push_back({{{"op", "read"}}, {{0.001, 3}, {1, 5}}, 7, 9.25});
  EXPECT_EQ(exposed(family),
            "# HELP latency_seconds Latency.\n"
            "# TYPE latency_seconds histogram\n"
            "latency_seconds_bucket{op=\"read\",le=\"0.001\"} 3\n"
            "latency_seconds_bucket{op=\"read\",le=\"1\"} 5\n"
            "latency_seconds_bucket{op=\"read\",le=\"+Inf\"} 7\n"
            "latency_seconds_sum{op=\"read\"} 9.25\n"
            "latency_seconds_count{op=\"read\"} 7\n");
  EXPECT_NE(exposed(family, Exposition::openmetrics).find("le=\"1.0\"} 5\n"), std::string::npos);

  family.histograms = {{{}, {{1, 2}, {kInfinity, 2}}, 2, 3}};
  EXPECT_EQ(exposed(family).find("+Inf"), exposed(family).rfind("+Inf"));
}

TEST(Exposition, numbers) {
  const auto number = [](double value) {
    const std::string text = exposed(gauge(value));
    return text.substr(text.rfind(' ') + 1);
  };
  EXPECT_EQ(number(0), "0\n");
  EXPECT_EQ(number(-0.1), "-0.1\n");
  EXPECT_EQ(number(9007199254740993), "9.007199254740992e+15\n");  // the nearest double
  EXPECT_EQ(number(999999), "999999\n");
  EXPECT_EQ(number(1048576), "1.048576e+06\n");  // as Go writes it
  EXPECT_EQ(number(0.0001), "0.0001\n");
  EXPECT_EQ(number(0.000016), "1.6e-05\n");
  EXPECT_EQ(number(1e300), "1e+300\n");
  EXPECT_EQ(number(kInfinity), "+Inf\n");
  EXPECT_EQ(number(-kInfinity), "-Inf\n");
  EXPECT_EQ(number(std::nan("")), "NaN\n");
}

TEST(Exposition, labels_of_any_bytes_stay_one_line_of_utf8) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  const MetricFamily family{"g", "a\\b\n\"c\"", MetricType::gauge, {{{{"l", all}}, 1}}, {}};
  const std::string text = exposed(family);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_NE(text.find("# HELP g a\\\\b\\n\"c\"\n"), std::string::npos);
  EXPECT_NE(text.find("!\\\"#"), std::string::npos);   // a quote
  EXPECT_NE(text.find("[\\\\]"), std::string::npos);   // a backslash
  EXPECT_NE(text.find("\t\\n\v"), std::string::npos);  // a newline
  EXPECT_EQ(text.find('\x80'), std::string::npos);     // bytes that begin nothing
  EXPECT_NE(exposed(family, Exposition::openmetrics).find("\\n\\\"c\\\"\n"), std::string::npos);
}

TEST(Exposition, utf8_stays_and_what_only_looks_like_it_does_not) {
  const auto label = [](const std::string& value) {
    const MetricFamily family{"g", "", MetricType::gauge, {{{{"l", value}}, 1}}, {}};
    const std::string text = exposed(family);
    const size_t begin = text.find("l=\"") + 3;
    return text.substr(begin, text.rfind('"') - begin);
  };
  EXPECT_EQ(label("µ€😀"), "µ€😀");
  EXPECT_EQ(label("\xC0\xAF"), "\uFFFD\uFFFD");            // overlong
  EXPECT_EQ(label("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(label("\xE2\x82"), "\uFFFD\uFFFD");            // cut short
}

TEST(Exposition, families_without_samples_are_left_out) {
  const MetricFamily family{"g", "Help.", MetricType::gauge, {}, {}};
  EXPECT_EQ(exposed(family), "");
  EXPECT_EQ(exposed(family, Exposition::openmetrics), "# EOF\n");
}

TEST(Negotiation, openmetrics_for_those_that_want_it) {
  EXPECT_EQ(negotiate(""), Exposition::text);
  EXPECT_EQ(negotiate("*/*"), Exposition::text);
  EXPECT_EQ(negotiate("text/html"), Exposition::text);
  EXPECT_EQ(negotiate("application/openmetrics-text"), Exposition::openmetrics);
  EXPECT_EQ(negotiate("application/openmetrics-text; version=\"1.0.0\""), Exposition::openmetrics);
  EXPECT_EQ(negotiate("application/openmetrics-text;q=0"), Exposition::text);
  EXPECT_EQ(negotiate("application/openmetrics-text;version=2.0.0"), Exposition::text);
  // Prometheus 2.50 and 3.0
  EXPECT_EQ(negotiate("application/openmetrics-text;version=1.0.0;q=0.5,"
                      "application/openmetrics-text;version=0.0.1;q=0.4,"
                      "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"),
            Exposition::openmetrics);
  EXPECT_EQ(negotiate("text/plain;version=0.0.4;q=0.9,application/openmetrics-text;q=0.1"),
            Exposition::text);
  EXPECT_EQ(negotiate(";;;,q=,=,,application/openmetrics-text;q=x"), Exposition::openmetrics);
}

}  // namespace
}  // namespace jobscope
