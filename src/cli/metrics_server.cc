#include "src/cli/metrics_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "src/output/exposition.h"
#include "src/output/self_metrics.h"

namespace jobscope {
namespace {

MetricFamily counter(const char* name, const char* help, uint64_t value) {
  return {name, help, MetricType::counter, {{{}, static_cast<double>(value)}}, {}};
}

void add_server_families(const ServerCounters& c, std::vector<MetricFamily>& families) {
  MetricFamily responses{"jobscope_http_responses_total",
                         "Responses by the first digit of their status.",
                         MetricType::counter,
                         {},
                         {}};
  for (size_t digit = 1; digit < c.responses.size(); ++digit)
    responses.samples.push_back(
        {{{"class", fmt::format("{}xx", digit)}}, static_cast<double>(c.responses[digit])});
  families.push_back(std::move(responses));
  families.push_back(
      counter("jobscope_http_connections_total", "Connections that came.", c.accepted));
  families.push_back(counter("jobscope_http_connections_refused_total",
                             "Connections turned away: there were too many.", c.refused));
  families.push_back(counter("jobscope_http_connections_timed_out_total",
                             "Connections closed because they were too slow.", c.timed_out));
  families.push_back(
      counter("jobscope_http_bad_requests_total", "Requests that were no HTTP.", c.bad_requests));
}

std::string landing_page(const std::string& metrics_path) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><title>jobscope</title></head>\n"
      "<body><h1>jobscope</h1>\n<p><a href=\"{}\">Metrics</a> · <a "
      "href=\"/healthz\">Health</a></p>\n</body></html>\n",
      metrics_path);
}

bool is_path(const std::string& path) {
  return path.size() > 1 && path.front() == '/' &&
         path.find_first_of(" \"<>&?#\\") == std::string::npos && path != "/healthz";
}

}  // namespace

void declare(CLI::App& app, ServeOptions& options) {
  app.add_option("--web.listen-address", options.addresses,
                 "where to serve; several are possible: HOST:PORT, :PORT, unix:///PATH, fd://N "
                 "(sockets of systemd)")
      ->type_name("ADDRESS")
      ->allow_extra_args(false)
      ->capture_default_str();
  app.add_option("--web.telemetry-path", options.metrics_path, "path of the metrics")
      ->type_name("PATH")
      ->capture_default_str();
  app.add_option("--web.config.file", options.web_config,
                 "TLS and passwords, in the format of Prometheus's exporters")
      ->type_name("FILE");
}

Result<MetricsServer> MetricsServer::listen(const ServeOptions& options, Families families,
                                            Log log) {
  if (!is_path(options.metrics_path))
    return fail(
        fmt::format("--web.telemetry-path: '{}' is no path for metrics", options.metrics_path),
        "as /metrics");
  ServerOptions server_options;
  server_options.addresses = options.addresses;
  server_options.passed =
      passed_sockets(std::getenv("LISTEN_PID"), std::getenv("LISTEN_FDS"), ::getpid());
  if (!options.web_config.empty())
    server_options.web = TRY(WebConfig::load(options.web_config, log));
  server_options.log = std::move(log);
  MetricsServer made(TRY(HttpServer::listen(std::move(server_options))));
  HttpServer* server = made.server_.get();
  server->route(options.metrics_path,
                [families = std::move(families), server](const HttpRequest& request) {
                  std::vector<MetricFamily> all = families();
                  add_server_families(server->counters(), all);
                  for (MetricFamily& family : self_metrics()) all.push_back(std::move(family));
                  const Exposition format = negotiate(request.header("Accept"));
                  HttpResponse response;
                  response.content_type = content_type(format);
                  expose(all, format, response.body);
                  return response;
                });
  server->route("/healthz", [](const HttpRequest&) { return plain_response(200, "ok"); });
  server->route("/", [page = landing_page(options.metrics_path)](const HttpRequest&) {
    HttpResponse response;
    response.content_type = "text/html; charset=utf-8";
    response.body = page;
    return response;
  });
  return made;
}

void MetricsServer::page(const std::string& path, std::function<std::string()> text) {
  server_->route(path, [text = std::move(text)](const HttpRequest&) {
    HttpResponse response;
    response.body = text();
    return response;
  });
}

}  // namespace jobscope
