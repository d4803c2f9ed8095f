#include "src/http/web_config.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace jobscope {
namespace {

constexpr std::streamsize kMostBytes = 1 << 20;

Result<std::string> read_file(const std::string& path) {
  std::error_code ignored;
  const auto type = std::filesystem::status(path, ignored).type();
  if (type == std::filesystem::file_type::fifo)  // to open one would wait for a writer
    return fail("cannot read " + path + ": it is no regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail_errno("cannot read " + path);
  std::string text(static_cast<size_t>(kMostBytes) + 1, '\0');
  file.read(text.data(), kMostBytes + 1);
  if (file.bad()) return fail_errno("cannot read " + path);
  if (file.gcount() > kMostBytes) return fail(fmt::format("{}: larger than 1 MiB", path));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

}  // namespace

Result<std::shared_ptr<WebConfig>> WebConfig::load(const std::string& path, Log log,
                                                   std::chrono::milliseconds interval) {
  const std::shared_ptr<WebConfig> config(new WebConfig(path));
  config->log_ = std::move(log);
  config->interval_ = interval;
  config->policy_ = config->read();
  if (!config->policy_) return tl::unexpected(config->policy_.error());
  config->tls_ = (*config->policy_)->tls != nullptr;
  config->looked_ = Clock::now();
  return config;
}

std::string WebConfig::state_of_files() const {
  std::string state;
  for (const std::string& file : files_) {
    struct stat s {};
    if (::stat(file.c_str(), &s) != 0) {
      state += "-;";
      continue;
    }
    state += fmt::format("{}.{} {} {} {};", s.st_mtim.tv_sec, s.st_mtim.tv_nsec, s.st_size,
                         s.st_dev, s.st_ino);
  }
  return state;
}

Result<std::shared_ptr<const WebPolicy>> WebConfig::read() {
  files_ = {path_};
  WebSettings settings = TRY(parse_web_settings(TRY(read_file(path_)), path_));
  if (!settings.tls) return std::make_shared<const WebPolicy>(std::move(settings));
  for (const std::string& file : {settings.cert_file, settings.key_file, settings.client_ca_file})
    if (!file.empty()) files_.push_back(file);
  TlsServerSettings tls = *settings.tls;
  if (!settings.client_ca_file.empty()) tls.client_ca = TRY(read_file(settings.client_ca_file));

  const auto load_pair = [&]() -> Result<TlsContext> {
    if (!settings.cert_file.empty()) tls.certificate = TRY(read_file(settings.cert_file));
    if (!settings.key_file.empty()) tls.key = TRY(read_file(settings.key_file));
    return make_server_tls(tls);
  };
  auto context = load_pair();
  if (!context && good_) {
    if (log_) log_(path_ + ": the certificate in use stays: " + context.error().what);
    tls.certificate = good_->certificate;
    tls.key = good_->key;
    context = make_server_tls(tls);  // fails for what is not the pair's fault
  }
  if (!context) return tl::unexpected(context.error().context(path_));
  good_ = Pair{tls.certificate, tls.key};
  auto policy = std::make_shared<WebPolicy>(std::move(settings));
  policy->tls = std::move(*context);
  return policy;
}

Result<std::shared_ptr<const WebPolicy>> WebConfig::current() {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  if (now - looked_ < interval_) return policy_;
  looked_ = now;
  // What changes while it is read differs again at the next look. Other files than before: the
  // state of some was not taken before they were read, so all are read once more.
  const std::string state = state_of_files();
  if (state == state_) return policy_;
  const std::vector<std::string> files = files_;
  policy_ = read();
  state_ = files == files_ ? state : "";
  if (policy_ && ((*policy_)->tls != nullptr) != tls_)
    policy_ = fail(path_ + ": TLS cannot be turned on or off while the server runs", "restart it");
  if (!policy_ && log_) log_(policy_.error().what + ": nobody is let in until this is repaired");
  return policy_;
}

bool WebConfig::allow(const WebPolicy& policy) {
  const auto interval = policy.settings.rate_interval;
  if (interval.count() == 0) return true;
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  const auto burst = static_cast<double>(policy.settings.rate_burst);
  if (!filled_)
    tokens_ = burst;
  else
    tokens_ += std::chrono::duration<double, std::nano>(now - *filled_) /
               std::chrono::duration<double, std::nano>(interval);
  filled_ = now;
  tokens_ = std::min(tokens_, burst);
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

}  // namespace jobscope
