#include "src/http/web_config.h"

#include <crypt.h>
#include <gmock/gmock.h>
#include <openssl/evp.h>

#include "src/http/certificate_for_test.h"

namespace jobscope {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string hash_of(const std::string& password, const char* prefix = "$2b$") {
  crypt_data data{};
  char setting[CRYPT_GENSALT_OUTPUT_SIZE];
  const char salt[] = "0123456789abcdef";
  crypt_gensalt_rn(prefix, 4, salt, sizeof(salt) - 1, setting, sizeof(setting));
  return ::crypt_r(password.c_str(), setting, &data);
}

std::string basic(const std::string& text) {
  std::string encoded((text.size() + 2) / 3 * 4 + 1, '\0');
  const int bytes = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()));
  encoded.resize(static_cast<size_t>(bytes));
  return "Basic " + encoded;
}

std::string error_of(const std::string& yaml) {
  const auto settings = parse_web_settings(yaml, "web.yml");
  return settings ? "" : settings.error().what;
}

TEST(WebSettings, all_that_a_file_can_say) {
  const auto settings = parse_web_settings(R"(
tls_server_config:
  cert_file: server.crt
  key_file: /etc/keys/server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca: |
    -----BEGIN CERTIFICATE-----
  client_allowed_sans: [prometheus.example, 10.0.0.1]
  min_version: TLS11
  max_version: TLS12
  cipher_suites:
    - TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
    - TLS_AES_128_GCM_SHA256
    - TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256
  prefer_server_cipher_suites: false
  curve_preferences: [X25519, CurveP256]
http_server_config:
  http2: true
  headers:
    X-Frame-Options: deny
    Strict-Transport-Security: max-age=31536000
    X-XSS-Protection: ""
basic_auth_users:
  alice: $2y$10$mDwo.lAisC94iLAyP81MCesa29IzH37oigHC/42V2pdJlUprsJPze
rate_limit: {interval: 100ms, burst: 20}
)",
                                           "conf/web.yml");
  ASSERT_TRUE(settings) << settings.error().what;
  EXPECT_EQ(settings->cert_file, "conf/server.crt");
  EXPECT_EQ(settings->key_file, "/etc/keys/server.key");
  const TlsServerSettings& tls = *settings->tls;
  EXPECT_EQ(tls.client_auth, ClientAuth::require_and_verify);
  EXPECT_THAT(tls.client_ca, StartsWith("-----BEGIN"));
  EXPECT_EQ(tls.allowed_sans.size(), 2U);
  EXPECT_EQ(tls.min_version, 0x0302);
  EXPECT_EQ(tls.max_version, 0x0303);
  EXPECT_EQ(tls.ciphers, "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305");
  EXPECT_EQ(tls.curves, "X25519:P-256");
  EXPECT_FALSE(tls.prefer_server_ciphers);
  ASSERT_EQ(settings->headers.size(), 2U);
  EXPECT_EQ(find_header(settings->headers, "x-frame-options"), "deny");
  EXPECT_EQ(settings->users.size(), 1U);
  EXPECT_EQ(settings->rate_interval, std::chrono::milliseconds(100));
  EXPECT_EQ(settings->rate_burst, 20U);
}

TEST(WebSettings, an_empty_file_is_plain_http) {
  for (const char* empty : {"", "# nothing\n", "tls_server_config:\n", "basic_auth_users: {}\n"}) {
    const auto settings = parse_web_settings(empty, "web.yml");
    ASSERT_TRUE(settings) << empty << settings.error().what;
    EXPECT_FALSE(settings->tls);
    EXPECT_TRUE(settings->users.empty());
  }
}

TEST(WebSettings, mistakes_are_told_with_their_line) {
  EXPECT_THAT(error_of("tls_config: {}"),
              HasSubstr("web.yml:1: the file cannot have 'tls_config'"));
  EXPECT_THAT(error_of("tls_server_config:\n  cert_file: a\n  key_fil: b\n"),
              StartsWith("web.yml:3: tls_server_config cannot have 'key_fil'"));
  EXPECT_THAT(error_of("tls_server_config:\n  cert_file: a\n"), HasSubstr("neither key nor"));
  EXPECT_THAT(error_of("tls_server_config:\n  key_file: a\n"), HasSubstr("neither cert nor"));
  EXPECT_THAT(error_of("tls_server_config:\n  min_version: TLS12\n"), HasSubstr("no TLS"));
  const std::string pair = "tls_server_config:\n  cert_file: a\n  key_file: b\n";
  EXPECT_THAT(error_of(pair + "  min_version: TLS9\n"), StartsWith("web.yml:4: "));
  EXPECT_THAT(error_of(pair + "  min_version: TLS13\n  max_version: TLS12\n"), HasSubstr("above"));
  EXPECT_THAT(error_of(pair + "  client_auth_type: Maybe\n"), HasSubstr("'Maybe'"));
  EXPECT_THAT(error_of(pair + "  client_ca_file: c\n"), HasSubstr("asks for no certificate"));
  EXPECT_THAT(error_of(pair + "  client_allowed_sans: [a]\n"), HasSubstr("needs client_auth_type"));
  EXPECT_THAT(error_of(pair + "  cipher_suites: [TLS_ROT13]\n"), HasSubstr("'TLS_ROT13'"));
  EXPECT_THAT(error_of(pair + "  curve_preferences: [P1]\n"), HasSubstr("'P1'"));
  EXPECT_THAT(error_of("http_server_config: {http2: perhaps}"), HasSubstr("true or false"));
  EXPECT_THAT(error_of("http_server_config:\n  headers: {Server: x}"), HasSubstr("'Server'"));
  EXPECT_THAT(error_of("http_server_config:\n  headers: {X-Frame-Options: all}"),
              HasSubstr("'all'"));
  EXPECT_THAT(error_of("basic_auth_users:\n  a: secret\n"),
              HasSubstr("web.yml:2: user 'a': this is no bcrypt hash"));
  EXPECT_THAT(error_of("basic_auth_users:\n  a:b: x\n"), HasSubstr("web.yml:2"));
  EXPECT_THAT(error_of("rate_limit: {interval: 1}"), HasSubstr("'interval'"));
  EXPECT_THAT(error_of("rate_limit: {interval: 1s}"), HasSubstr("no burst"));
  EXPECT_THAT(error_of("rate_limit: {interval: 1s, burst: -1}"), HasSubstr("'burst'"));
  EXPECT_THAT(error_of("a: [\n"), StartsWith("web.yml:"));
  EXPECT_THAT(error_of("- a\n"), HasSubstr("must be a mapping"));
  EXPECT_THAT(error_of("? [a]\n: b\n"), HasSubstr("must be plain text"));
  EXPECT_THAT(error_of(std::string(2 << 20, '#')), HasSubstr("bytes"));
}

TEST(BasicAuth, passwords) {
  BasicAuth auth({{"alice", hash_of("pass:word")},
                  {"bob", hash_of("hunter2", "$2y$")},
                  {"carol", hash_of("", "$2a$")}});
  const std::string right = basic("alice:pass:word");
  EXPECT_EQ(auth.check_quickly(right), std::nullopt);  // not known yet
  EXPECT_TRUE(auth.check(right));
  EXPECT_EQ(auth.check_quickly(right), true);  // remembered
  EXPECT_TRUE(auth.check(basic("bob:hunter2")));
  EXPECT_TRUE(auth.check(basic("carol:")));
  EXPECT_TRUE(auth.check("bAsIc  " + basic("bob:hunter2").substr(6)));
  for (const char* wrong : {"alice:pass:wor", "alice:hunter2", "bob:", "dave:hunter2", ":", ""}) {
    EXPECT_FALSE(auth.check(basic(wrong))) << wrong;
    EXPECT_NE(auth.check_quickly(basic(wrong)), true) << wrong;
  }
  EXPECT_FALSE(auth.check(basic(std::string("bob:hunter2\0x", 13))));
  for (const char* bad : {"", "Basic", "Basic ", "Basic =", "Basic ====", "Basic Ym9i", "Basic a",
                          "Basic \t\t\t\t", "Bearer Ym9iOmh1bnRlcjI="})
    EXPECT_EQ(auth.check_quickly(bad), false) << bad;
  EXPECT_EQ(BasicAuth({}).check_quickly(""), true);
}

TEST(BasicAuth, hashes) {
  EXPECT_TRUE(check_bcrypt_hash(hash_of("x")));
  const std::string hash = hash_of("x");
  for (const std::string& bad :
       {std::string(), hash.substr(1), hash + "x", "$2x" + hash.substr(3), "$1$" + hash.substr(3),
        "$2b$99" + hash.substr(6), "$2b$21" + hash.substr(6), "$2b$03" + hash.substr(6),
        hash.substr(0, 59) + "!"})
    EXPECT_FALSE(check_bcrypt_hash(bad)) << bad;
}

class WebConfigFile : public ::testing::Test {
 protected:
  void load() {
    const auto config = WebConfig::load(
        path_, [this](const std::string& line) { log_ += line + "\n"; },
        std::chrono::milliseconds(0));
    ASSERT_TRUE(config) << config.error().what;
    config_ = *config;
  }
  std::string users() const {
    const auto policy = config_->current();
    if (!policy) return policy.error().what;
    std::string names;
    for (const auto& [user, hash] : (*policy)->settings.users) names += user + " ";
    return names;
  }

  TestFolder folder_;
  std::string path_ = folder_.path("web.yml");
  std::shared_ptr<WebConfig> config_;
  std::string log_;
};

TEST_F(WebConfigFile, is_read_again_when_it_changes) {
  EXPECT_THAT(WebConfig::load(path_).error().what, HasSubstr("cannot read"));
  folder_.write("web.yml", "basic_auth_users: {alice: '" + hash_of("a") + "'}");
  load();
  EXPECT_EQ(users(), "alice ");
  const auto same = config_->current();
  EXPECT_EQ(same->get(), config_->current()->get());
  folder_.write("web.yml", "basic_auth_users: {bob: '" + hash_of("b") + "'}");
  EXPECT_EQ(users(), "bob ");
  EXPECT_EQ(log_, "");
  folder_.write("web.yml", "basic_auth_users: {bob: nonsense}");
  EXPECT_THAT(users(), HasSubstr("no bcrypt hash"));  // nobody is let in
  EXPECT_THAT(users(), HasSubstr("no bcrypt hash"));
  EXPECT_EQ(std::count(log_.begin(), log_.end(), '\n'), 1);
  folder_.write("web.yml", "basic_auth_users: {carol: '" + hash_of("c") + "'}");
  EXPECT_EQ(users(), "carol ");
  std::filesystem::remove(path_);
  EXPECT_THAT(users(), HasSubstr("cannot read"));
}

TEST_F(WebConfigFile, is_not_looked_at_all_the_time) {
  folder_.write("web.yml", "basic_auth_users: {alice: '" + hash_of("a") + "'}");
  config_ = *WebConfig::load(path_, {}, std::chrono::hours(1));
  folder_.write("web.yml", "");
  EXPECT_EQ(users(), "alice ");
}

TEST_F(WebConfigFile, a_renewed_certificate) {
  const TestAuthority authority;
  const auto first = authority.issue("first", "IP:127.0.0.1");
  const auto second = authority.issue("second", "IP:127.0.0.1");
  folder_.write("crt", first.certificate);
  folder_.write("key", first.key);
  const std::string tls = "tls_server_config: {cert_file: crt, key_file: key}\n";
  folder_.write("web.yml", tls);
  load();
  EXPECT_TRUE(config_->tls());
  const auto before = (*config_->current())->tls;
  folder_.write("crt", second.certificate);
  const auto between = config_->current();  // the key is still the old one
  ASSERT_TRUE(between) << between.error().what;
  EXPECT_NE((*between)->tls, nullptr);
  EXPECT_THAT(log_, HasSubstr("the certificate in use stays"));
  // What else changes meanwhile counts all the same.
  folder_.write("web.yml", tls + "basic_auth_users: {bob: '" + hash_of("b") + "'}");
  EXPECT_EQ(users(), "bob ");
  log_ = "";
  folder_.write("key", second.key);
  const auto after = config_->current();
  ASSERT_TRUE(after);
  EXPECT_NE((*after)->tls, before);
  EXPECT_EQ(log_, "");
  folder_.write("web.yml", "");
  EXPECT_THAT(users(), HasSubstr("turned on or off"));
}

TEST_F(WebConfigFile, broken_certificates_are_errors_at_first) {
  const TestAuthority authority;
  const auto one = authority.issue("one", "IP:127.0.0.1");
  const auto other = authority.issue("other", "IP:127.0.0.1");
  const auto error = [&](const std::string& crt, const std::string& key, const std::string& ca) {
    folder_.write("crt", crt);
    folder_.write("key", key);
    folder_.write("ca", ca);
    folder_.write("web.yml",
                  "tls_server_config: {cert_file: crt, key_file: key, client_ca_file: ca, "
                  "client_auth_type: RequireAndVerifyClientCert}\n");
    const auto config = WebConfig::load(path_);
    return config ? "" : config.error().what;
  };
  EXPECT_EQ(error(one.certificate, one.key, authority.pem()), "");
  EXPECT_THAT(error("junk", one.key, authority.pem()), HasSubstr("certificate is not readable"));
  EXPECT_THAT(error(one.certificate, "junk", authority.pem()), HasSubstr("key is not readable"));
  EXPECT_THAT(error(one.certificate, other.key, authority.pem()), HasSubstr("not that of its"));
  EXPECT_THAT(error(one.certificate, one.key, "junk"), HasSubstr("client_ca"));
}

TEST_F(WebConfigFile, rate_limit) {
  folder_.write("web.yml", "rate_limit: {interval: 1h, burst: 3}");
  load();
  const auto policy = *config_->current();
  int allowed = 0;
  for (int i = 0; i < 10; ++i) allowed += config_->allow(*policy);
  EXPECT_EQ(allowed, 3);
}

}  // namespace
}  // namespace jobscope
