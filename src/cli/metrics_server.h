// Serves metrics at /metrics, /healthz and a few pages: for `programs`, and daemons to come.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/http/server.h"
#include "src/model/metric.h"

namespace jobscope {

// By the names of Prometheus's exporters.
struct ServeOptions {
  std::vector<std::string> addresses{":9435"};
  std::string metrics_path = "/metrics";
  std::string web_config;  // path; "": none
};
void declare(CLI::App& app, ServeOptions& options);

class MetricsServer {
 public:
  using Families = std::function<std::vector<MetricFamily>()>;  // called on several threads
  using Log = std::function<void(const std::string&)>;
  // Binds the addresses; start() serves.
  static Result<MetricsServer> listen(const ServeOptions& options, Families families, Log log);

  // A page of plain text, made anew for each request. Before start().
  void page(const std::string& path, std::function<std::string()> text);
  void start() { server_->start(); }
  void stop() { server_->stop(); }
  const std::vector<std::string>& addresses() const { return server_->addresses(); }

 private:
  explicit MetricsServer(std::unique_ptr<HttpServer> server) : server_(std::move(server)) {}
  std::unique_ptr<HttpServer> server_;
};

}  // namespace jobscope
