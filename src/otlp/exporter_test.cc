#include "src/otlp/exporter.h"

#include <gmock/gmock.h>

#include "src/http/raw_client_for_test.h"
#include "src/http/server.h"
#include "src/output/otlp_for_test.h"

namespace jobscope {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

// A collector in this process, whose answers a test chooses.
class OtlpExporterTest : public ::testing::Test {
 protected:
  OtlpExporterTest() {
    ServerOptions options;
    options.addresses = {"127.0.0.1:0"};
    options.body_bytes = 16 << 20;
    server_ = std::move(*HttpServer::listen(options));
    server_->route("/v1/traces", [this](const HttpRequest& r) { return answer(r); }, {"POST"});
    server_->start();
    config_.url = "http://" + server_->addresses()[0] + "/v1/traces";
    config_.service = "jobscope";
    config_.resource = {{"host.name", "node"}};
    config_.delay = milliseconds(1);
    config_.first_retry = milliseconds(1);
    config_.timeout = kPatience;
    config_.export_time = kPatience;
  }

  HttpResponse answer(const HttpRequest& request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
    if (answers_.empty()) return plain_response(200, "");
    HttpResponse next = answers_.front();
    answers_.pop_front();
    return next;
  }
  void start() {
    auto started = OtlpExporter::start(config_, [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_ += line + "\n";
    });
    ASSERT_TRUE(started) << started.error().what;
    exporter_ = std::move(*started);
  }
  static Span span(const std::string& name) {
    Span made;
    made.trace_id.fill(1);
    made.span_id.fill(2);
    made.name = name;
    return made;
  }
  OtlpCounters settled() {
    EXPECT_TRUE(eventually([&] { return exporter_->counters().queued == 0; }));
    const OtlpCounters c = exporter_->counters();
    EXPECT_EQ(c.taken, c.exported + c.dropped_full + c.dropped_failed + c.dropped_rejected);
    return c;
  }
  std::vector<HttpRequest> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  std::mutex mutex_;
  std::vector<HttpRequest> requests_;
  std::deque<HttpResponse> answers_;
  std::string log_;
  std::unique_ptr<HttpServer> server_;
  OtlpConfig config_;
  std::unique_ptr<OtlpExporter> exporter_;
};

TEST_F(OtlpExporterTest, sends_spans_by_service) {
  config_.delay = milliseconds(600'000);
  config_.batch_size = 3;  // full at once
  config_.headers = {{"Api-Key", "k"}};
  start();
  EXPECT_TRUE(exporter_->send("web", span("a")));
  EXPECT_TRUE(exporter_->send("", span("b")));
  EXPECT_TRUE(exporter_->send("web", span("c")));
  EXPECT_EQ(settled().exported, 3U);
  const HttpRequest request = requests().at(0);
  EXPECT_EQ(request.header("Content-Type"), "application/x-protobuf");
  EXPECT_EQ(request.header("api-key"), "k");
  const auto resources = decode_traces(request.body);
  ASSERT_EQ(resources.size(), 2U);
  EXPECT_EQ(resources[0].attributes.at("service.name"), "jobscope");
  EXPECT_EQ(resources[0].attributes.at("host.name"), "node");
  EXPECT_EQ(resources[0].spans.at(0).name, "b");
  EXPECT_EQ(resources[1].attributes.at("service.name"), "web");
  ASSERT_EQ(resources[1].spans.size(), 2U);
  EXPECT_EQ(resources[1].spans[1].name, "c");
}

TEST_F(OtlpExporterTest, a_few_spans_go_after_the_delay) {
  config_.gzip = true;
  start();
  exporter_->send("", span("only"));
  EXPECT_EQ(settled().exported, 1U);
  const HttpRequest request = requests().at(0);
  EXPECT_EQ(request.header("Content-Encoding"), "gzip");
  EXPECT_EQ(decode_traces(gunzip(request.body, 1 << 20).value()).at(0).spans.at(0).name, "only");
}

TEST_F(OtlpExporterTest, tries_again_when_told_to) {
  answers_ = {plain_response(503, "busy"), plain_response(429, "busy")};
  answers_[1].headers = {{"Retry-After", "0"}};
  start();
  exporter_->send("", span("a"));
  const OtlpCounters c = settled();
  EXPECT_EQ(c.exported, 1U);
  EXPECT_EQ(c.requests, 3U);
  EXPECT_EQ(c.retries, 2U);
  EXPECT_EQ(requests().at(0).body, requests().at(2).body);
  EXPECT_EQ(log_, "");
}

TEST_F(OtlpExporterTest, does_not_try_again_what_is_refused) {
  answers_ = {plain_response(400, "no"), plain_response(200, "")};
  start();
  exporter_->send("", span("a"));
  const OtlpCounters c = settled();
  EXPECT_EQ(c.dropped_failed, 1U);
  EXPECT_EQ(c.requests, 1U);
  EXPECT_THAT(log_, HasSubstr("1 span(s) were lost: "));
  EXPECT_THAT(log_, HasSubstr("answers 400"));
}

TEST_F(OtlpExporterTest, gives_up_when_the_wait_is_too_long) {
  answers_ = {plain_response(503, "busy")};
  answers_[0].headers = {{"Retry-After", "3600"}};
  start();
  exporter_->send("", span("a"));
  EXPECT_EQ(settled().dropped_failed, 1U);
}

TEST_F(OtlpExporterTest, gives_up_when_nobody_is_there) {
  server_->stop();
  config_.export_time = milliseconds(100);
  start();
  exporter_->send("", span("a"));
  const OtlpCounters c = settled();
  EXPECT_EQ(c.dropped_failed, 1U);
  EXPECT_GT(c.requests, 1U);
}

TEST_F(OtlpExporterTest, counts_what_the_collector_rejects) {
  HttpResponse partial;
  partial.content_type = "application/x-protobuf";
  partial.body = std::string("\x0a\x06\x08\x02\x12\x02no", 8);
  answers_ = {partial};
  config_.delay = milliseconds(600'000);
  config_.batch_size = 3;
  start();
  for (int i = 0; i < 3; ++i) exporter_->send("", span("a"));
  const OtlpCounters c = settled();
  EXPECT_EQ(c.dropped_rejected, 2U);
  EXPECT_EQ(c.exported, 1U);
}

TEST_F(OtlpExporterTest, a_full_queue_drops_and_counts) {
  config_.queue_size = 7;
  config_.batch_size = 7;
  for (int i = 0; i < 100'000; ++i) answers_.push_back(plain_response(503, "busy"));
  start();
  int taken = 0;
  for (int i = 0; i < 23; ++i) taken += exporter_->send("", span("a"));
  EXPECT_EQ(taken, 7);
  EXPECT_EQ(exporter_->counters().dropped_full, 16U);
  EXPECT_EQ(exporter_->counters().queued, 7U);
  exporter_->stop(milliseconds(0));
  EXPECT_EQ(settled().dropped_failed, 7U);
}

TEST_F(OtlpExporterTest, stop_sends_what_is_queued) {
  config_.delay = milliseconds(600'000);
  start();
  for (int i = 0; i < 1300; ++i) exporter_->send("", span("a"));
  exporter_->stop(kPatience);
  EXPECT_EQ(settled().exported, 1300U);
  EXPECT_FALSE(exporter_->send("", span("late")));
  EXPECT_EQ(exporter_->counters().dropped_full, 1U);
}

TEST_F(OtlpExporterTest, files_for_tls_are_read_at_the_start) {
  config_.url = "https://127.0.0.1:1/v1/traces";
  config_.tls.ca_file = "/no/such/file";
  const auto started = OtlpExporter::start(config_, {});
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().what, HasSubstr("/no/such/file"));
}

}  // namespace
}  // namespace jobscope
