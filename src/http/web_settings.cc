#include "src/http/web_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "src/base/go_duration.h"
#include "src/http/basic_auth.h"

namespace jobscope {
namespace {

constexpr size_t kMostBytes = 1 << 20;

using Names = std::vector<std::string_view>;

class SettingsParser {
 public:
  explicit SettingsParser(const std::string& path) : path_(path) {}

  Result<WebSettings> parse(const YAML::Node& root) {
    if (root.IsNull()) return std::move(settings_);
    TRY(check_keys(root, "the file",
                   {"tls_server_config", "http_server_config", "basic_auth_users", "rate_limit"}));
    if (const YAML::Node node = root["tls_server_config"]; node && !node.IsNull()) TRY(tls(node));
    if (const YAML::Node node = root["http_server_config"]; node && !node.IsNull()) TRY(http(node));
    if (const YAML::Node node = root["basic_auth_users"]; node && !node.IsNull()) TRY(users(node));
    if (const YAML::Node node = root["rate_limit"]; node && !node.IsNull()) TRY(rate_limit(node));
    return std::move(settings_);
  }

  std::string at(const YAML::Mark& mark) const {
    return mark.is_null() ? path_ : fmt::format("{}:{}", path_, mark.line + 1);
  }

 private:
  tl::unexpected<Error> wrong(const YAML::Node& node, const std::string& what,
                              std::string hint = {}) const {
    return fail(at(node.Mark()) + ": " + what, std::move(hint));
  }

  Result<> check_keys(const YAML::Node& map, const std::string& where, const Names& known) const {
    if (!map.IsMap()) return wrong(map, where + " must be a mapping (key: value)");
    std::set<std::string> seen;
    for (const auto& entry : map) {
      const std::string key = TRY(scalar(entry.first, "a key of " + where));
      if (!seen.insert(key).second)
        return wrong(entry.first, fmt::format("{} has '{}' twice", where, key));
      if (std::find(known.begin(), known.end(), key) == known.end())
        return wrong(entry.first, fmt::format("{} cannot have '{}'", where, key),
                     fmt::format("it can have {}", fmt::join(known, ", ")));
    }
    return {};
  }

  Result<std::string> scalar(const YAML::Node& node, const std::string& what) const {
    if (!node.IsScalar()) return wrong(node, what + " must be plain text");
    return node.Scalar();
  }

  // "" if it is not there.
  Result<std::string> text(const YAML::Node& map, const char* key) const {
    const YAML::Node node = map[key];
    if (!node || node.IsNull()) return std::string();
    return scalar(node, fmt::format("'{}'", key));
  }

  Result<std::vector<std::string>> texts(const YAML::Node& map, const char* key) const {
    std::vector<std::string> found;
    const YAML::Node node = map[key];
    if (!node || node.IsNull()) return found;
    if (!node.IsSequence()) return wrong(node, fmt::format("'{}' must be a list", key));
    for (const auto& item : node)
      found.push_back(TRY(scalar(item, fmt::format("each of '{}'", key))));
    return found;
  }

  Result<bool> boolean(const YAML::Node& map, const char* key, bool otherwise) const {
    const YAML::Node node = map[key];
    if (!node || node.IsNull()) return otherwise;
    bool value = false;
    if (!node.IsScalar() || !YAML::convert<bool>::decode(node, value))
      return wrong(node, fmt::format("'{}' must be true or false", key));
    return value;
  }

  Result<std::string> file(const YAML::Node& map, const char* key) const {
    const std::string name = TRY(text(map, key));
    if (name.empty()) return name;
    return (std::filesystem::path(path_).parent_path() / name).string();
  }

  // The same by OpenSSL's names, in one list.
  Result<std::string> names(const YAML::Node& map, const char* key, const char* kind,
                            std::string (*translate)(const std::string&)) const {
    std::string list;
    for (const std::string& name : TRY(texts(map, key))) {
      const std::string translated = translate(name);
      if (translated.empty())
        return wrong(map[key], fmt::format("'{}' is no {} that is known here", name, kind));
      if (translated.starts_with("TLS_")) continue;  // TLS 1.3: as in Go, not to be chosen
      if (!list.empty()) list += ':';
      list += translated;
    }
    return list;
  }

  Result<int> version(const YAML::Node& map, const char* key, const char* otherwise) const {
    const std::string name = TRY(text(map, key));
    const int number = tls_version(name.empty() ? otherwise : name);
    if (!number)
      return wrong(map[key], fmt::format("'{}' is '{}'", key, name),
                   "it is one of TLS10, TLS11, TLS12, TLS13");
    return number;
  }

  Result<> tls(const YAML::Node& node) {
    const std::string where = "tls_server_config";
    TRY(check_keys(node, where,
                   {"cert", "key", "client_ca", "cert_file", "key_file", "client_auth_type",
                    "client_ca_file", "client_allowed_sans", "min_version", "max_version",
                    "cipher_suites", "prefer_server_cipher_suites", "curve_preferences"}));
    TlsServerSettings tls;
    settings_.cert_file = TRY(file(node, "cert_file"));
    settings_.key_file = TRY(file(node, "key_file"));
    settings_.client_ca_file = TRY(file(node, "client_ca_file"));
    // As in the toolkit, a file comes before a text.
    if (settings_.cert_file.empty()) tls.certificate = TRY(text(node, "cert"));
    if (settings_.key_file.empty()) tls.key = TRY(text(node, "key"));
    if (settings_.client_ca_file.empty()) tls.client_ca = TRY(text(node, "client_ca"));
    tls.allowed_sans = TRY(texts(node, "client_allowed_sans"));
    tls.ciphers = TRY(names(node, "cipher_suites", "cipher suite", cipher_name));
    tls.curves = TRY(names(node, "curve_preferences", "curve", curve_name));
    tls.prefer_server_ciphers = TRY(boolean(node, "prefer_server_cipher_suites", true));
    tls.min_version = TRY(version(node, "min_version", "TLS12"));
    tls.max_version = TRY(version(node, "max_version", "TLS13"));
    if (tls.min_version > tls.max_version)
      return wrong(node, where + ": min_version is above max_version");
    const std::string auth = TRY(text(node, "client_auth_type"));
    tls.client_auth = TRY(client_auth(node, auth));
    const bool has_ca = !settings_.client_ca_file.empty() || !tls.client_ca.empty();
    const bool has_certificate = !settings_.cert_file.empty() || !tls.certificate.empty();
    const bool has_key = !settings_.key_file.empty() || !tls.key.empty();
    if (!has_certificate && !has_key && !has_ca && auth.empty()) {
      if (node.size() == 0) return {};
      return wrong(node, where + " says nothing of a certificate, so there would be no TLS",
                   "give cert_file and key_file, or leave it out");
    }
    if (!has_certificate) return wrong(node, where + " has neither cert nor cert_file");
    if (!has_key) return wrong(node, where + " has neither key nor key_file");
    if (has_ca && tls.client_auth == ClientAuth::none)
      return wrong(node, where + " has a client CA, but client_auth_type asks for no certificate",
                   "client_auth_type: RequireAndVerifyClientCert");
    if (!tls.allowed_sans.empty() && tls.client_auth != ClientAuth::require_any &&
        tls.client_auth != ClientAuth::require_and_verify)
      return wrong(node["client_allowed_sans"],
                   "client_allowed_sans needs client_auth_type RequireAndVerifyClientCert");
    settings_.tls = std::move(tls);
    return {};
  }

  Result<ClientAuth> client_auth(const YAML::Node& node, const std::string& name) const {
    if (name.empty() || name == "NoClientCert") return ClientAuth::none;
    if (name == "RequestClientCert") return ClientAuth::request;
    if (name == "RequireAnyClientCert" || name == "RequireClientCert")
      return ClientAuth::require_any;
    if (name == "VerifyClientCertIfGiven") return ClientAuth::verify_if_given;
    if (name == "RequireAndVerifyClientCert") return ClientAuth::require_and_verify;
    return wrong(node["client_auth_type"], fmt::format("'client_auth_type' is '{}'", name),
                 "it is one of NoClientCert, RequestClientCert, RequireAnyClientCert, "
                 "VerifyClientCertIfGiven, RequireAndVerifyClientCert");
  }

  Result<> http(const YAML::Node& node) {
    TRY(check_keys(node, "http_server_config", {"http2", "headers"}));
    TRY(boolean(node, "http2", true));
    const YAML::Node headers = node["headers"];
    if (!headers || headers.IsNull()) return {};
    TRY(check_keys(headers, "headers",
                   {"Content-Security-Policy", "X-Frame-Options", "X-Content-Type-Options",
                    "X-XSS-Protection", "Strict-Transport-Security"}));
    for (const auto& entry : headers) {
      const std::string name = entry.first.Scalar();
      if (entry.second.IsNull()) continue;
      std::string value = TRY(scalar(entry.second, "'" + name + "'"));
      if (value.empty()) continue;
      if (name == "X-Frame-Options" && value != "deny" && value != "sameorigin")
        return wrong(entry.second, "X-Frame-Options is '" + value + "'",
                     "it is deny or sameorigin");
      if (name == "X-Content-Type-Options" && value != "nosniff")
        return wrong(entry.second, "X-Content-Type-Options is '" + value + "'", "it is nosniff");
      settings_.headers.emplace_back(name, std::move(value));
    }
    return {};
  }

  Result<> users(const YAML::Node& node) {
    if (!node.IsMap()) return wrong(node, "basic_auth_users must be a mapping (user: hash)");
    for (const auto& entry : node) {
      const std::string user = TRY(scalar(entry.first, "a user of basic_auth_users"));
      std::string hash = TRY(scalar(entry.second, "the hash of user '" + user + "'"));
      if (user.find(':') != std::string::npos)
        return wrong(entry.first, "the user '" + user + "' has a colon, which HTTP cannot carry");
      if (const auto good = check_bcrypt_hash(hash); !good)
        return wrong(entry.second, "user '" + user + "': " + good.error().what, good.error().hint);
      if (!settings_.users.emplace(user, std::move(hash)).second)
        return wrong(entry.first, "there are two users '" + user + "'");
    }
    return {};
  }

  Result<> rate_limit(const YAML::Node& node) {
    TRY(check_keys(node, "rate_limit", {"interval", "burst"}));
    const std::string interval = TRY(text(node, "interval"));
    const auto parsed = parse_go_duration(interval.empty() ? "0" : interval);
    if (!parsed || parsed->count() < 0)
      return wrong(node["interval"], fmt::format("'interval' is '{}'", interval),
                   "it is a duration, as 1s or 100ms");
    settings_.rate_interval = *parsed;
    if (const YAML::Node burst = node["burst"]; burst && !burst.IsNull())
      if (!burst.IsScalar() || !YAML::convert<uint64_t>::decode(burst, settings_.rate_burst))
        return wrong(burst, "'burst' must be a number of requests");
    if (parsed->count() > 0 && settings_.rate_burst == 0)
      return wrong(node, "rate_limit has no burst, so it would refuse all requests",
                   "burst: 20, for example");
    return {};
  }

  const std::string& path_;
  WebSettings settings_;
};

}  // namespace

Result<WebSettings> parse_web_settings(std::string_view yaml, const std::string& path) {
  if (yaml.size() > kMostBytes)
    return fail(
        fmt::format("{}: the file has {} bytes, more than {}", path, yaml.size(), kMostBytes));
  SettingsParser parser(path);
  try {  // yaml-cpp's exceptions end here
    return parser.parse(YAML::Load(std::string(yaml)));
  } catch (const YAML::Exception& error) {
    return fail(parser.at(error.mark) + ": " + error.msg);
  }
}

}  // namespace jobscope
