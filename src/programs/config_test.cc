#include "src/programs/config.h"

#include <gmock/gmock.h>

namespace jobscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<ProgramConfig> parsed(const std::string& yaml) {
  return parse_program_config("io", yaml, "io.yaml");
}

std::string error_of(const std::string& yaml) {
  const auto config = parsed(yaml);
  return config ? "" : config.error().what;
}

TEST(ProgramConfig, all_that_a_file_can_say) {
  const auto config = parsed(R"(
metrics:
  counters:
    - name: reads_total
      help: Reads.
      labels:
        - name: device
          size: 4
          decoders: [{name: majorminor}]
        - name: op
          size: 1
          padding: 3
          decoders:
            - name: uint
            - name: static_map
              static_map: {0: read, 1: write}
              allow_unknown: true
            - name: regexp
              regexps: ["^r.*", "(w)rite"]
    - name: dns_total
      help: Questions.
      perf_event_array: true
      flush_interval: 1m30s
  histograms:
    - name: latency_seconds
      help: Latency.
      bucket_type: exp2
      bucket_min: 0
      bucket_max: 27
      bucket_multiplier: 0.000001
      labels: [{name: bucket, size: 8, decoders: [{name: uint}]}]
    - name: sizes
      help: Sizes.
      bucket_type: fixed
      bucket_keys: [1, 2.5, 10]
      labels: [{name: bucket, size: 4, decoders: [{name: uint}]}]
tracing:
  spans:
    - {ringbuf: spans, name: request, service: web}
kaddrs: [jiffies]
cgroup_id_map: {name: groups, type: cgrp_storage, regexps: ["^/a"]}
)");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_THAT(config->warnings, ElementsAre());
  ASSERT_EQ(config->counters.size(), 2u);
  const CounterConfig& reads = config->counters[0];
  EXPECT_EQ(reads.name, "reads_total");
  EXPECT_EQ(reads.labels[1].padding, 3u);
  EXPECT_EQ(reads.labels[1].decoders[1].static_map.at("1"), "write");
  EXPECT_TRUE(reads.labels[1].decoders[1].allow_unknown);
  EXPECT_THAT(reads.labels[1].decoders[2].regexps, ElementsAre("^r.*", "(w)rite"));
  EXPECT_EQ(reads.flush_interval, std::chrono::hours(1));
  EXPECT_TRUE(config->counters[1].perf_event_array);
  EXPECT_EQ(config->counters[1].flush_interval, std::chrono::seconds(90));
  ASSERT_EQ(config->histograms.size(), 2u);
  EXPECT_EQ(config->histograms[0].max, 27);
  EXPECT_DOUBLE_EQ(config->histograms[0].multiplier, 1e-6);
  EXPECT_THAT(config->histograms[1].keys, ElementsAre(1, 2.5, 10));
  EXPECT_EQ(config->spans[0].ringbuf, "spans");
  EXPECT_THAT(config->kaddrs, ElementsAre("jiffies"));
  ASSERT_TRUE(config->cgroup_id_map);
  EXPECT_TRUE(config->cgroup_id_map->cgroup_storage);
}

TEST(ProgramConfig, what_is_wrong_is_told_with_its_line) {
  EXPECT_EQ(error_of(""), "io.yaml: the file must be a mapping with 'metrics' or 'tracing'");
  EXPECT_THAT(error_of("metrics: {}\n"),
              HasSubstr("there are no counters, gauges, histograms or spans"));
  EXPECT_EQ(error_of("metrics:\n  counters:\n    - help: x\n"), "io.yaml:3: a counter has no name");
  EXPECT_EQ(error_of("metrics:\n  counters:\n    - name: x\n"),
            "io.yaml:3: counter 'x' has no help");
  EXPECT_EQ(error_of("metrics:\n  counters:\n    - name: a-b\n      help: x\n"),
            "io.yaml:3: 'a-b' is no name of a metric: letters, digits and _");
  EXPECT_EQ(error_of("metrics:\n  counters: 7\n"),
            "io.yaml:2: 'counters' of 'metrics' must be a list");
  EXPECT_EQ(error_of("metrics:\n  counters:\n    - {name: x, help: x}\n    - {name: x, help: x}\n"),
            "io.yaml:4: there are two metrics 'x'");
  EXPECT_EQ(error_of("metrics:\n  counters:\n  - name: x\n    help: x\n    labels:\n"
                     "    - {name: l, size: 0, decoders: [{name: uint}]}\n"),
            "io.yaml:6: label 'l' of counter 'x' has the size 0: leave 'size' out to have it taken "
            "from the key's type");
  EXPECT_EQ(error_of("metrics:\n  counters:\n  - name: x\n    help: x\n    labels:\n"
                     "    - {name: l, size: -4, decoders: [{name: uint}]}\n"),
            "io.yaml:6: 'size' of label 'l' of counter 'x' is -4: it must be from 0 to 65536");
  EXPECT_EQ(error_of("metrics:\n  counters:\n  - name: x\n    help: x\n    labels:\n"
                     "    - {name: l, job: train}\n"),
            "io.yaml:6: 'job' of label 'l' of counter 'x' is 'train'");
  EXPECT_EQ(error_of("metrics:\n  gauges: [{name: x, help: x}]\nalternatives: [[a, b], [b, c]]\n"),
            "io.yaml:3: 'b' is twice among 'alternatives'");
  EXPECT_EQ(error_of("metrics:\n  counters:\n  - {name: x, help: x, flush_interval: soon}\n"),
            "io.yaml:3: 'flush_interval' of counter 'x' must be a duration, as 10s or 1h");
  EXPECT_EQ(error_of("metrics:\n  histograms:\n  - {name: x, help: x, bucket_type: log}\n"),
            "io.yaml:3: 'bucket_type' of histogram 'x' is 'log'");
  EXPECT_THAT(error_of("metrics: [unfinished"), HasSubstr("io.yaml:1: "));
  EXPECT_THAT(error_of("a: b\na: c\n"), HasSubstr("has 'a' twice"));
}

TEST(ProgramConfig, a_file_of_v1_says_how_to_convert_it) {
  const auto config = parsed("programs:\n- name: bio\n  code: |\n    int x;\n");
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().what, HasSubstr("ebpf_exporter v1"));
  EXPECT_THAT(config.error().hint, HasSubstr("NAME.bpf.c"));
}

TEST(ProgramConfig, what_means_nothing_is_a_warning) {
  const auto config = parsed("metrics:\n  counters:\n  - {name: x, help: x, halp: y}\n");
  ASSERT_TRUE(config);
  EXPECT_THAT(config->warnings,
              ElementsAre("io.yaml:3: 'halp' of a counter means nothing and is ignored"));
}

TEST(ProgramConfig, what_may_be_left_out_and_what_we_add) {
  const auto config = parsed(R"(
metrics:
  gauges:
    - {name: threads, help: Threads., labels: [{name: tgid, job: tgid}, {name: state}]}
  histograms:
    - {name: latency, help: Latency., bucket_type: exp2, bucket_max: 3}
alternatives: [[on_fentry, on_kprobe]]
)");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_THAT(config->warnings, ElementsAre());
  ASSERT_EQ(config->counters.size(), 1u);
  EXPECT_TRUE(config->counters[0].gauge);
  EXPECT_EQ(config->counters[0].labels[0].job, JobKey::process);
  EXPECT_EQ(config->counters[0].labels[1].size, 0u);
  EXPECT_TRUE(config->histograms[0].labels.empty());
  EXPECT_THAT(config->alternatives, ElementsAre(ElementsAre("on_fentry", "on_kprobe")));
}

TEST(ProgramConfig, hostile_files_end_soon) {
  std::string patterns =
      "metrics:\n  counters:\n  - name: x\n    help: x\n    labels:\n"
      "    - {name: a, size: 4, decoders: [&d {name: regexp, regexps: [";
  for (int i = 0; i < 10'000; ++i) patterns += "x,";
  patterns += "y]}";
  for (int i = 0; i < 10'000; ++i) patterns += ",*d";
  EXPECT_THAT(error_of(patterns + "]}\n"), HasSubstr("more than 100000 items"));

  std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c <= 'z'; ++c) {
    bomb += std::string{c} + ": &" + c + " [";
    for (int i = 0; i < 9; ++i)
      bomb += std::string("*") + static_cast<char>(c - 1) + (i < 8 ? "," : "]\n");
  }
  EXPECT_NE(error_of(bomb), "");
  EXPECT_NE(error_of(std::string(100'000, '[')), "");
  EXPECT_NE(error_of(std::string(2 << 20, ' ')), "");
  EXPECT_NE(error_of(std::string("\0\xFF", 2)), "");
}

TEST(GoDuration, units_and_sums) {
  using std::chrono::nanoseconds;
  EXPECT_EQ(parse_go_duration("10s"), nanoseconds(10'000'000'000));
  EXPECT_EQ(parse_go_duration("1h2m3s"), nanoseconds(3'723'000'000'000));
  EXPECT_EQ(parse_go_duration("1.5h"), nanoseconds(5'400'000'000'000));
  EXPECT_EQ(parse_go_duration("100ms"), nanoseconds(100'000'000));
  EXPECT_EQ(parse_go_duration("7µs"), nanoseconds(7000));
  EXPECT_EQ(parse_go_duration("0"), nanoseconds(0));
  for (const char* bad : {"", "10", "s", "1x", "-1s", "1h ", "1..5s", "9999999999h"})
    EXPECT_FALSE(parse_go_duration(bad)) << bad;
}

}  // namespace
}  // namespace jobscope
