// The web configuration file in use: read, and read again when it or a certificate changes.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/http/basic_auth.h"
#include "src/http/web_settings.h"

namespace jobscope {

// One version of it, ready for use. May be shared by threads.
struct WebPolicy {
  explicit WebPolicy(WebSettings s) : settings(std::move(s)), auth(settings.users) {}
  const WebSettings settings;
  TlsContext tls;  // null: plain HTTP
  mutable BasicAuth auth;
};

// The files are looked at with each call of current(), but at most once in `interval`.
//
// A new version that is broken lets nobody in: current() fails until it is repaired, as in the
// toolkit, for the old version may hold a user or an authority that somebody just took out. Only
// where the server's own certificate and key are broken, or do not belong together because the one
// was renewed a moment before the other, the last good pair is kept and a line goes to the log: it
// opens no door. TLS cannot be turned on or off without a restart.
//
// For use from several threads at once.
class WebConfig {
 public:
  using Log = std::function<void(std::string)>;
  static Result<std::shared_ptr<WebConfig>> load(
      const std::string& path, Log log = {},
      std::chrono::milliseconds interval = std::chrono::seconds(1));

  Result<std::shared_ptr<const WebPolicy>> current();
  // False: the request is one too many, by rate_limit.
  bool allow(const WebPolicy& policy);
  bool tls() const { return tls_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Pair {
    std::string certificate, key;
  };
  explicit WebConfig(std::string path) : path_(std::move(path)) {}
  Result<std::shared_ptr<const WebPolicy>> read();
  std::string state_of_files() const;

  const std::string path_;
  Log log_;
  std::chrono::milliseconds interval_{};
  bool tls_ = false;
  std::mutex mutex_;
  Clock::time_point looked_;
  std::vector<std::string> files_;  // that the policy was made of
  std::string state_;               // their times, sizes and numbers
  Result<std::shared_ptr<const WebPolicy>> policy_;
  std::optional<Pair> good_;  // the certificate and key last used
  double tokens_ = 0;         // of rate_limit
  std::optional<Clock::time_point> filled_;
};

}  // namespace jobscope
