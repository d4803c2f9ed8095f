#include "src/otlp/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "src/base/text.h"
#include "src/http/url.h"

namespace jobscope {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// "a=b,c=d%20e": keys and values of W3C baggage, without properties. Empty if it is none.
std::optional<Pairs> read_pairs(std::string_view text) {
  Pairs pairs;
  while (!text.empty()) {
    const std::string_view entry = take_until(text, ',');
    if (entry.empty()) continue;
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    auto key = percent_decoded(trimmed(entry.substr(0, equals)));
    auto value = percent_decoded(trimmed(entry.substr(equals + 1)));
    if (!key || !value || key->empty()) return std::nullopt;
    pairs.emplace_back(std::move(*key), std::move(*value));
  }
  return pairs;
}

class EnvironmentReader {
 public:
  EnvironmentReader(const Environment& environment, OtlpConfig& config)
      : environment_(environment), config_(config) {}

  std::string text(const std::string& name) const {
    const char* value = environment_(name.c_str());
    return std::string(trimmed(value ? value : ""));
  }

  // OTEL_EXPORTER_OTLP_TRACES_x, or OTEL_EXPORTER_OTLP_x. Says which.
  std::pair<std::string, std::string> exporter(const std::string& x) const {
    const std::string traces = "OTEL_EXPORTER_OTLP_TRACES_" + x;
    if (std::string value = text(traces); !value.empty()) return {traces, value};
    return {"OTEL_EXPORTER_OTLP_" + x, text("OTEL_EXPORTER_OTLP_" + x)};
  }

  // As it was if the value is none.
  template <class Number>
  void number(const std::pair<std::string, std::string>& variable, Number least, Number& into) {
    const auto& [name, value] = variable;
    if (value.empty()) return;
    Number read{};
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), read);
    if (error != std::errc() || end != value.data() + value.size() || read < least)
      return ignored(name, value);
    into = read;
  }
  void milliseconds(const std::pair<std::string, std::string>& variable, uint32_t least,
                    std::chrono::milliseconds& into) {
    auto count = static_cast<uint32_t>(into.count());
    number(variable, least, count);
    into = std::chrono::milliseconds(count);
  }

  Pairs pairs(const std::pair<std::string, std::string>& variable) {
    auto found = read_pairs(variable.second);
    if (found) return std::move(*found);
    config_.warnings.push_back(variable.first + " is not key=value,key=value, and is ignored");
    return {};
  }

  void ignored(const std::string& name, const std::string& value) {
    config_.warnings.push_back(fmt::format("{}={} cannot be used and is ignored", name, value));
  }

 private:
  const Environment& environment_;
  OtlpConfig& config_;
};

Result<> read_endpoint(const EnvironmentReader& reader, OtlpConfig& config) {
  std::string name = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
  std::string url = reader.text(name);
  if (url.empty()) {
    name = "OTEL_EXPORTER_OTLP_ENDPOINT";
    url = reader.text(name);
    if (url.empty()) return {};
    while (url.ends_with('/')) url.pop_back();
    url += "/v1/traces";
  }
  if (const auto parsed = parse_url(url); !parsed)
    return tl::unexpected(parsed.error().context(name));
  config.url = url;
  return {};
}

Result<> read_protocol(const EnvironmentReader& reader) {
  const auto [name, protocol] = reader.exporter("PROTOCOL");
  if (protocol.empty() || protocol == "http/protobuf") return {};
  return fail(fmt::format("{}={}: spans are sent by http/protobuf only", name, protocol),
              "set it to http/protobuf and the endpoint to the collector's HTTP port, 4318 as a "
              "rule");
}

}  // namespace

Result<OtlpConfig> read_otlp_config(const Environment& environment, const std::string& service) {
  OtlpConfig config;
  EnvironmentReader reader(environment, config);
  const std::string exporter = reader.text("OTEL_TRACES_EXPORTER");
  if (equal_without_case(reader.text("OTEL_SDK_DISABLED"), "true") || exporter == "none") {
    config.enabled = false;
    return config;
  }
  if (!exporter.empty() && exporter != "otlp")
    return fail("OTEL_TRACES_EXPORTER=" + exporter + ": there are only otlp and none");
  TRY(read_protocol(reader));
  TRY(read_endpoint(reader, config));

  const auto compression = reader.exporter("COMPRESSION");
  config.gzip = compression.second == "gzip";
  if (!config.gzip && !compression.second.empty() && compression.second != "none")
    reader.ignored(compression.first, compression.second);
  config.headers = reader.pairs(reader.exporter("HEADERS"));
  reader.milliseconds(reader.exporter("TIMEOUT"), 1, config.timeout);
  config.tls.ca_file = reader.exporter("CERTIFICATE").second;
  config.tls.certificate_file = reader.exporter("CLIENT_CERTIFICATE").second;
  config.tls.key_file = reader.exporter("CLIENT_KEY").second;

  const auto variable = [&](const char* name) {
    return std::pair<std::string, std::string>(name, reader.text(name));
  };
  reader.number<size_t>(variable("OTEL_BSP_MAX_QUEUE_SIZE"), 1, config.queue_size);
  reader.number<size_t>(variable("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"), 1, config.batch_size);
  reader.milliseconds(variable("OTEL_BSP_SCHEDULE_DELAY"), 0, config.delay);
  reader.milliseconds(variable("OTEL_BSP_EXPORT_TIMEOUT"), 1, config.export_time);
  config.batch_size = std::min(config.batch_size, config.queue_size);

  config.resource = reader.pairs(variable("OTEL_RESOURCE_ATTRIBUTES"));
  config.service = service;
  std::erase_if(config.resource, [&](const auto& attribute) {
    if (attribute.first != "service.name") return false;
    config.service = attribute.second;
    return true;
  });
  if (std::string name = reader.text("OTEL_SERVICE_NAME"); !name.empty()) config.service = name;
  return config;
}

}  // namespace jobscope
