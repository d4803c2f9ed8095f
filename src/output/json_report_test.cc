#include "src/output/json_report.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "src/output/sample_snapshot_for_test.h"

namespace jobscope {
namespace {

using Json = nlohmann::ordered_json;

std::string golden(const std::string& name) {
  std::ifstream file(std::string(JOBSCOPE_SOURCE_DIR) + "/tests/golden/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

Json parsed(const Snapshot& snapshot, const std::vector<Finding>& findings = {}) {
  return Json::parse(json_report(snapshot, findings));
}

TEST(JsonReport, of_a_full_snapshot_is_the_golden_file) {
  EXPECT_EQ(json_report(sample::full(), sample::findings()), golden("report_full.json"));
}

TEST(JsonReport, of_an_empty_snapshot_is_the_golden_file) {
  EXPECT_EQ(json_report(Snapshot{}, {}), golden("report_empty.json"));
}

TEST(JsonReport, cpu_of_the_job_is_the_sum_of_its_threads) {
  EXPECT_EQ(parsed(sample::full())["job"]["cpu_ns"], 8'000'000'001);
}

TEST(JsonReport, parts_add_up_to_the_lifetime) {
  const Json report = parsed(sample::big(50, 0));
  ASSERT_EQ(report["threads"].size(), 53U);
  for (const Json& thread : report["threads"]) {
    uint64_t sum = 0;
    for (const auto& [reason, ns] : thread["parts"].items()) {
      EXPECT_TRUE(reason_by_name(reason)) << reason;
      sum += ns.get<uint64_t>();
    }
    EXPECT_EQ(sum, thread["lifetime_ns"]);
  }
}

TEST(JsonReport, prints_every_reason_by_its_name) {
  Snapshot snapshot;
  snapshot.threads.resize(1);
  snapshot.threads[0].parts.fill(1);
  EXPECT_EQ(parsed(snapshot)["threads"][0]["parts"].size(), kReasons);
}

TEST(JsonReport, buckets_are_keyed_by_their_upper_bound) {
  Snapshot snapshot;
  snapshot.runqueue.slots.fill(1);
  const Json buckets = parsed(snapshot)["runqueue_us"]["buckets"];
  std::vector<std::string> keys;
  for (const auto& [key, count] : buckets.items()) keys.push_back(key);
  ASSERT_EQ(keys.size(), Histogram::kSlots);
  EXPECT_EQ(keys[0], "2");
  EXPECT_EQ(keys[1], "4");
  EXPECT_EQ(keys[30], "2147483648");
  EXPECT_EQ(keys[31], "+Inf");
}

TEST(JsonReport, keeps_large_numbers_exactly) {
  Snapshot snapshot;
  snapshot.self.map_bytes = std::numeric_limits<uint64_t>::max();
  EXPECT_THAT(json_report(snapshot, {}), testing::HasSubstr("\"map_bytes\": 18446744073709551615"));
}

TEST(JsonReport, replaces_what_is_not_utf8) {
  Snapshot snapshot;
  snapshot.job.name = "a\xff\x80z\xc3";
  EXPECT_EQ(parsed(snapshot)["job"]["name"], "a\uFFFD\uFFFDz\uFFFD");
}

TEST(JsonReport, numbers_keys_that_would_be_lost) {
  const Json report = parsed(sample::full(), sample::findings());
  EXPECT_EQ(report["tables"]["faults_2"]["title"], "A second table of that name");
  EXPECT_EQ(report["findings"][0]["evidence"]["peak_2"], "again");
}

TEST(JsonReport, a_share_that_is_no_number_is_null) {
  const Finding odd{"x", std::numeric_limits<double>::quiet_NaN(), "", "", {}, ""};
  EXPECT_TRUE(parsed(Snapshot{}, {odd})["findings"][0]["share"].is_null());
}

}  // namespace
}  // namespace jobscope
