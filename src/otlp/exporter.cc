#include "src/otlp/exporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "src/base/thread.h"
#include "src/http/client.h"
#include "src/http/gzip.h"
#include "src/output/otlp.h"

namespace jobscope {
namespace {

constexpr int kGzipLevel = 1;
constexpr size_t kReplyBytes = 64 << 10;
constexpr std::chrono::milliseconds kLongestRetry{30000};

// The protocol's list (OTLP specification, "Retryable Response Codes").
bool worth_retrying(int status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

// Retry-After in seconds; a date is not read.
std::optional<std::chrono::milliseconds> retry_after(const std::string& text) {
  uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return std::chrono::seconds(seconds);
}

}  // namespace

std::vector<MetricFamily> otlp_metrics(const OtlpCounters& counters) {
  const auto number = [](uint64_t value) { return static_cast<double>(value); };
  return {{"jobscope_otlp_spans_exported_total",
           "Spans that the collector has.",
           MetricType::counter,
           {{{}, number(counters.exported)}},
           {}},
          {"jobscope_otlp_spans_dropped_total",
           "Spans that were lost: the queue was full, the request failed, or the collector took it "
           "without them.",
           MetricType::counter,
           {{{{"reason", "queue_full"}}, number(counters.dropped_full)},
            {{{"reason", "failed"}}, number(counters.dropped_failed)},
            {{{"reason", "rejected"}}, number(counters.dropped_rejected)}},
           {}},
          {"jobscope_otlp_spans_queued",
           "Spans that wait to be sent, or are being sent.",
           MetricType::gauge,
           {{{}, number(counters.queued)}},
           {}}};
}

OtlpExporter::OtlpExporter(OtlpConfig config, Log log)
    : config_(std::move(config)), log_(std::move(log)), random_(std::random_device()()) {}

OtlpExporter::~OtlpExporter() { stop(std::chrono::milliseconds(0)); }

Result<std::unique_ptr<OtlpExporter>> OtlpExporter::start(OtlpConfig config, Log log) {
  std::unique_ptr<OtlpExporter> exporter(new OtlpExporter(std::move(config), std::move(log)));
  if (exporter->config_.url.starts_with("https:"))
    exporter->tls_ = TRY(make_client_tls(exporter->config_.tls));
  exporter->thread_ = start_thread("otlp", [self = exporter.get()] { self->work(); });
  return exporter;
}

bool OtlpExporter::send(std::string service, Span span) {
  const std::lock_guard lock(mutex_);
  ++counters_.taken;
  if (stopping_ || counters_.queued >= config_.queue_size) {
    ++counters_.dropped_full;
    return false;
  }
  ++counters_.queued;
  queue_.emplace_back(std::move(service), std::move(span));
  if (queue_.size() == 1 || queue_.size() == config_.batch_size) changed_.notify_all();
  return true;
}

void OtlpExporter::stop(std::chrono::milliseconds flush) {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    stop_at_ = Clock::now() + flush;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

OtlpCounters OtlpExporter::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

void OtlpExporter::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    changed_.wait_for(lock, config_.delay,
                      [&] { return stopping_ || queue_.size() >= config_.batch_size; });
    const size_t count = std::min(queue_.size(), config_.batch_size);
    if (count == 0 && stopping_) return;
    std::vector<Item> batch(std::make_move_iterator(queue_.begin()),
                            std::make_move_iterator(queue_.begin() + static_cast<long>(count)));
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<long>(count));
    lock.unlock();
    const auto rejected = export_batch(std::move(batch));
    if (!rejected) log_(fmt::format("{} span(s) were lost: {}", count, rejected.error().what));
    lock.lock();
    counters_.queued -= count;
    if (rejected) {
      counters_.dropped_rejected += std::min<uint64_t>(*rejected, count);
      counters_.exported += count - std::min<uint64_t>(*rejected, count);
    } else {
      counters_.dropped_failed += count;
    }
  }
}

std::vector<ResourceSpans> OtlpExporter::group(std::vector<Item> batch) const {
  std::stable_sort(batch.begin(), batch.end(),
                   [](const Item& a, const Item& b) { return a.first < b.first; });
  std::vector<ResourceSpans> resources;
  const std::string* service = nullptr;
  for (auto& [name, span] : batch) {
    if (!service || *service != name) {
      ResourceSpans& resource = resources.emplace_back();
      resource.attributes = config_.resource;
      resource.attributes.emplace_back("service.name", name.empty() ? config_.service : name);
      service = &name;
    }
    resources.back().spans.push_back(std::move(span));
  }
  return resources;
}

std::chrono::milliseconds OtlpExporter::left(Clock::time_point deadline) const {
  const std::lock_guard lock(mutex_);
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::min(deadline, stop_at_) -
                                                               Clock::now());
}

bool OtlpExporter::pause(std::chrono::milliseconds time) {
  const auto until = Clock::now() + time;
  std::unique_lock lock(mutex_);
  // stop() may come while this waits, and leave less time.
  changed_.wait_until(lock, until, [&] { return stopping_ && stop_at_ < until; });
  return !stopping_ || stop_at_ >= until;
}

Result<uint64_t> OtlpExporter::export_batch(std::vector<Item> batch) {
  HttpCall call;
  call.method = "POST";
  call.url = config_.url;
  call.headers = config_.headers;
  call.headers.emplace_back("Content-Type", "application/x-protobuf");
  call.headers.emplace_back("User-Agent", "jobscope/" JOBSCOPE_VERSION);
  call.body = encode_traces(group(std::move(batch)));
  if (config_.gzip) {
    call.body = TRY(gzip(call.body, kGzipLevel));
    call.headers.emplace_back("Content-Encoding", "gzip");
  }
  call.reply_bytes = kReplyBytes;
  call.tls = tls_;
  call.give_up = [this] { return left(Clock::time_point::max()).count() <= 0; };

  const auto deadline = Clock::now() + config_.export_time;
  auto wait = config_.first_retry;
  Error last{"there was no time left to send them", {}, 0};
  for (bool again = false; left(deadline).count() > 0; again = true) {
    call.timeout = std::min(config_.timeout, left(deadline));
    {
      const std::lock_guard lock(mutex_);
      ++counters_.requests;
      if (again) ++counters_.retries;
    }
    const auto reply = http_send(call);
    auto next = wait + wait * std::uniform_int_distribution<int>(0, 50)(random_) / 100;
    wait = std::min(wait * 2, kLongestRetry);
    if (!reply) {
      last = reply.error();
    } else if (reply->status >= 200 && reply->status < 300) {
      const auto partial = decode_partial_success(reply->body);
      if (partial && partial->rejected_spans > 0)
        log_(fmt::format("the collector rejected {} span(s): {}", partial->rejected_spans,
                         partial->message));
      return partial ? partial->rejected_spans : 0;
    } else {
      last = Error{
          fmt::format("{} answers {}", config_.url.substr(0, config_.url.find('?')), reply->status),
          {},
          0};
      if (!worth_retrying(reply->status)) break;
      next = retry_after(reply->header("Retry-After")).value_or(next);
    }
    if (next > left(deadline) || !pause(next)) break;
  }
  return tl::unexpected(std::move(last));
}

}  // namespace jobscope
