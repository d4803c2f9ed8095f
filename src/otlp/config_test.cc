#include "src/otlp/config.h"

#include <gmock/gmock.h>

#include <map>

namespace jobscope {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Result<OtlpConfig> read(const std::map<std::string, std::string>& variables) {
  return read_otlp_config(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      "jobscope");
}

TEST(OtlpConfig, defaults) {
  const auto config = read({{"OTEL_EXPORTER_OTLP_ENDPOINT", ""}});
  ASSERT_TRUE(config);
  EXPECT_TRUE(config->enabled);
  EXPECT_EQ(config->url, "http://localhost:4318/v1/traces");
  EXPECT_EQ(config->service, "jobscope");
  EXPECT_EQ(config->timeout, milliseconds(10000));
  EXPECT_EQ(config->queue_size, 2048U);
  EXPECT_EQ(config->batch_size, 512U);
  EXPECT_EQ(config->delay, milliseconds(5000));
  EXPECT_FALSE(config->gzip);
  EXPECT_THAT(config->warnings, ElementsAre());
}

TEST(OtlpConfig, endpoints) {
  const auto url = [](const std::string& general, const std::string& traces) {
    const auto config = read(
        {{"OTEL_EXPORTER_OTLP_ENDPOINT", general}, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", traces}});
    return config ? config->url : config.error().what;
  };
  EXPECT_EQ(url("http://c:4318", ""), "http://c:4318/v1/traces");
  EXPECT_EQ(url("https://c/base/", ""), "https://c/base/v1/traces");
  EXPECT_EQ(url("http://c:4318", "http://other:1"), "http://other:1");
  EXPECT_EQ(url("", "http://other:1/x/"), "http://other:1/x/");
  EXPECT_THAT(url("c:4317", ""), HasSubstr("OTEL_EXPORTER_OTLP_ENDPOINT: the address"));
}

TEST(OtlpConfig, all_variables) {
  const auto config = read({{"OTEL_EXPORTER_OTLP_HEADERS", "a=1"},
                            {"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "Api-Key=k%20e%3Dy , b = c=d,"},
                            {"OTEL_EXPORTER_OTLP_TIMEOUT", "3"},
                            {"OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"},
                            {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"},
                            {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf"},
                            {"OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca"},
                            {"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/crt"},
                            {"OTEL_EXPORTER_OTLP_CLIENT_KEY", "/key"},
                            {"OTEL_RESOURCE_ATTRIBUTES", "service.name=r,host.name=h"},
                            {"OTEL_TRACES_EXPORTER", "otlp"},
                            {"OTEL_BSP_MAX_QUEUE_SIZE", "100"},
                            {"OTEL_BSP_SCHEDULE_DELAY", "0"},
                            {"OTEL_BSP_EXPORT_TIMEOUT", "7"}});
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_THAT(config->headers, ElementsAre(Pair("Api-Key", "k e=y"), Pair("b", "c=d")));
  EXPECT_EQ(config->timeout, milliseconds(3));
  EXPECT_TRUE(config->gzip);
  EXPECT_EQ(config->tls.ca_file, "/ca");
  EXPECT_EQ(config->tls.certificate_file, "/crt");
  EXPECT_EQ(config->tls.key_file, "/key");
  EXPECT_EQ(config->service, "r");
  EXPECT_THAT(config->resource, ElementsAre(Pair("host.name", "h")));
  EXPECT_EQ(config->queue_size, 100U);
  EXPECT_EQ(config->batch_size, 100U);  // never more than the queue
  EXPECT_EQ(config->delay, milliseconds(0));
  EXPECT_EQ(config->export_time, milliseconds(7));
  EXPECT_EQ(
      read({{"OTEL_RESOURCE_ATTRIBUTES", "service.name=r"}, {"OTEL_SERVICE_NAME", "s"}})->service,
      "s");
}

TEST(OtlpConfig, off) {
  EXPECT_FALSE(read({{"OTEL_SDK_DISABLED", "True"}})->enabled);
  EXPECT_FALSE(read({{"OTEL_TRACES_EXPORTER", "none"}})->enabled);
  EXPECT_FALSE(
      read({{"OTEL_SDK_DISABLED", "true"}, {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}})->enabled);
  EXPECT_TRUE(read({{"OTEL_SDK_DISABLED", "1"}})->enabled);
}

TEST(OtlpConfig, mistakes) {
  const auto grpc = read({{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}});
  ASSERT_FALSE(grpc);
  EXPECT_THAT(grpc.error().what, HasSubstr("OTEL_EXPORTER_OTLP_PROTOCOL=grpc"));
  EXPECT_THAT(grpc.error().hint, HasSubstr("4318"));
  EXPECT_FALSE(read({{"OTEL_TRACES_EXPORTER", "zipkin"}}));
  const auto config = read({{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s"},
                            {"OTEL_BSP_MAX_QUEUE_SIZE", "0"},
                            {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "-1"},
                            {"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"},
                            {"OTEL_EXPORTER_OTLP_HEADERS", "secret"},
                            {"OTEL_RESOURCE_ATTRIBUTES", "a=%zz,b=c"}});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->warnings.size(), 6U);
  for (const std::string& warning : config->warnings)
    EXPECT_THAT(warning, ::testing::Not(HasSubstr("secret")));
  EXPECT_EQ(config->timeout, milliseconds(10000));
  EXPECT_EQ(config->queue_size, 2048U);
  EXPECT_TRUE(config->resource.empty());
}

}  // namespace
}  // namespace jobscope
