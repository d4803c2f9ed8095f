// The client, the server and TLS between them.
#include "src/http/client.h"

#include <gmock/gmock.h>

#include "src/http/certificate_for_test.h"
#include "src/http/raw_client_for_test.h"
#include "src/http/server.h"
#include "src/http/url.h"

namespace jobscope {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

// bcrypt of "secret", cost 4.
constexpr const char* kSecret = "$2y$04$WUHhXETkX0fnYkrqZU3ta.V/MhsBGVkvl.skVEhBTiEdihFBnDQOa";

// Answers each connection with the same bytes, whatever it asks, and closes.
class Canned {
 public:
  explicit Canned(const std::string& bytes, bool close = true)
      : listeners_(std::move(*open_listeners("127.0.0.1:0", {}))), thread_([this, bytes, close] {
          for (;;) {
            pollfd poll{listeners_[0].fd(), POLLIN, 0};
            if (::poll(&poll, 1, 10) != 1) {
              if (stop_) return;
              continue;
            }
            Fd fd(::accept(listeners_[0].fd(), nullptr, nullptr));
            char request[65536];
            (void)::recv(fd.get(), request, sizeof(request), 0);
            (void)::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (!close) kept_.push_back(std::move(fd));
          }
        }) {}
  ~Canned() {
    stop_ = true;
    thread_.join();
  }
  std::string url() const { return "http://" + listeners_[0].address() + "/x"; }

 private:
  std::vector<Listener> listeners_;
  std::vector<Fd> kept_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

Result<HttpReply> ask(const std::string& url, milliseconds timeout = kPatience) {
  HttpCall call;
  call.url = url;
  call.timeout = timeout;
  return http_send(call);
}

std::string error_of(const Result<HttpReply>& reply) { return reply ? "" : reply.error().what; }

class Client : public ::testing::Test {
 protected:
  void serve(const std::string& web = "") {
    ServerOptions options;
    options.addresses = {"127.0.0.1:0", "unix:" + folder_.path("socket")};
    options.log = [](const std::string&) {};
    if (!web.empty()) {
      const auto config = WebConfig::load(folder_.write("web.yml", web), {}, milliseconds(0));
      ASSERT_TRUE(config) << config.error().what;
      options.web = *config;
    }
    server_ = std::move(*HttpServer::listen(options));
    server_->route("/echo",
                   [](const HttpRequest& r) {
                     HttpResponse response = plain_response(
                         200, r.method + " " + r.query + " " + r.header("x-note") + " " + r.body);
                     response.headers.emplace_back("X-Answer", "42");
                     return response;
                   },
                   {"GET", "POST"});
    server_->start();
  }
  std::string address() const { return server_->addresses()[0]; }
  std::string port() const { return address().substr(address().rfind(':')); }

  // A server with TLS, and what the client needs for it.
  void serve_tls(const std::string& more = "",
                 const std::string& sans = "DNS:localhost,IP:127.0.0.1") {
    const auto server = authority_.issue("server", sans);
    folder_.write("crt", server.certificate);
    folder_.write("key", server.key);
    folder_.write("ca", authority_.pem());
    serve("tls_server_config:\n  cert_file: crt\n  key_file: key\n" + more);
  }
  Result<HttpReply> ask_tls(const TlsClientSettings& settings,
                            const std::string& host = "127.0.0.1",
                            const std::string& authorization = "") {
    HttpCall call;
    call.url = "https://" + host + port() + "/echo?q";
    call.timeout = kPatience;
    if (!authorization.empty()) call.headers = {{"Authorization", authorization}};
    const auto tls = make_client_tls(settings);
    if (!tls) return tl::unexpected(tls.error());
    call.tls = *tls;
    return http_send(call);
  }
  TlsClientSettings with_certificate(const TestCertificate& certificate) {
    return {folder_.path("ca"), folder_.write("client.crt", certificate.certificate),
            folder_.write("client.key", certificate.key)};
  }

  TestFolder folder_;
  TestAuthority authority_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(Client, sends_and_receives) {
  serve();
  HttpCall call;
  call.method = "POST";
  call.url = "http://" + address() + "/echo?a=b#c";
  call.headers = {{"X-Note", "hello"}};
  call.body = std::string(100000, 'y');
  call.timeout = kPatience;
  auto reply = http_send(call);
  ASSERT_TRUE(reply) << reply.error().what;
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(reply->body, "POST a=b hello " + call.body + "\n");
  EXPECT_EQ(reply->header("x-answer"), "42");
  call.method = "HEAD";
  call.body = "";
  reply = http_send(call);
  ASSERT_TRUE(reply) << reply.error().what;
  EXPECT_EQ(reply->body, "");
  EXPECT_EQ(ask("http://localhost" + port() + "/nowhere")->status, 404);
  call.method = "GET";
  call.url = "http://ignored/echo";
  call.unix_socket = folder_.path("socket");
  EXPECT_EQ(http_send(call)->body, "GET  hello \n");
}

TEST_F(Client, kinds_of_replies) {
  const Canned chunked(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n",
      false);
  EXPECT_EQ(ask(chunked.url())->body, "abcde");
  const Canned to_the_end("HTTP/1.0 203 Fine\r\n\r\nall of it");
  EXPECT_EQ(ask(to_the_end.url())->body, "all of it");
  EXPECT_EQ(ask(to_the_end.url())->status, 203);
  const Canned redirect("HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(ask(redirect.url())->header("location"), "/other");
  const Canned early("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 None\r\n\r\n", false);
  EXPECT_EQ(ask(early.url())->status, 204);
}

TEST_F(Client, replies_that_are_wrong) {
  EXPECT_THAT(error_of(ask(Canned("").url())), HasSubstr("without a reply"));
  EXPECT_THAT(error_of(ask(Canned("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").url())),
              HasSubstr("ends too early"));
  EXPECT_THAT(error_of(ask(Canned("220 smtp.example\r\n\r\n").url())),
              HasSubstr("reading the reply"));
  EXPECT_NE(error_of(ask(Canned("HTTP/1.1 200 OK\r\nX: " + std::string(100000, 'x')).url())), "");
  HttpCall call;
  const Canned large("HTTP/1.1 200 OK\r\n\r\n" + std::string(2000, 'x'));
  call.url = large.url();
  call.reply_bytes = 1999;
  EXPECT_THAT(error_of(http_send(call)), HasSubstr("more than 1999 bytes"));
  call.reply_bytes = 2000;
  EXPECT_EQ(error_of(http_send(call)), "");
}

TEST_F(Client, time_is_a_total) {
  const Canned hangs("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", false);
  const auto reply = ask(hangs.url(), milliseconds(50));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ETIMEDOUT);
  EXPECT_THAT(reply.error().what, HasSubstr("GET " + hangs.url()));
}

TEST_F(Client, gives_up_when_asked_to) {
  const Canned hangs("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", false);
  HttpCall call;
  call.url = hangs.url();
  call.timeout = kPatience;
  int asked = 0;
  call.give_up = [&asked] { return ++asked == 3; };
  const auto reply = http_send(call);
  EXPECT_THAT(error_of(reply), HasSubstr("canceled"));
  EXPECT_EQ(asked, 3);
}

TEST_F(Client, nobody_there) {
  const auto closed = open_listeners("127.0.0.1:0", {})->front().address();
  const auto reply = ask("http://" + closed + "/?token=secret");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ECONNREFUSED);
  EXPECT_THAT(reply.error().what, ::testing::Not(HasSubstr("secret")));
  EXPECT_THAT(error_of(ask("http://no-such-host.invalid/")), HasSubstr("no-such-host.invalid"));
  HttpCall call;
  call.url = "http://x/";
  call.unix_socket = folder_.path("none");
  EXPECT_EQ(http_send(call).error().code, ENOENT);
}

TEST_F(Client, calls_that_are_wrong) {
  for (const char* url : {"", "x", "ftp://a/", "http://", "http://:1/", "http://a:0/",
                          "http://a:65536/", "http://a:b/", "http://u:p@a/", "http://[::1/",
                          "http://[::1]x/", "http://a/ b", "http://a/\r\nX: y"})
    EXPECT_FALSE(ask(url)) << url;
  HttpCall call;
  call.url = "http://127.0.0.1:1/";
  call.headers = {{"X", "a\r\nY: b"}};
  EXPECT_THAT(error_of(http_send(call)), HasSubstr("not valid"));
  call.headers = {};
  call.method = "GET /other HTTP/1.1\r\nX:";
  EXPECT_THAT(error_of(http_send(call)), HasSubstr("not valid"));
}

TEST(Url, parts) {
  const Url url = *parse_url("HTTPS://example.org:8443/a?b#c");
  EXPECT_TRUE(url.tls);
  EXPECT_EQ(url.host, "example.org");
  EXPECT_EQ(url.authority(), "example.org:8443");
  EXPECT_EQ(url.target, "/a?b");
  EXPECT_EQ(parse_url("http://[::1]")->authority(), "[::1]");
  EXPECT_EQ(parse_url("http://[::1]:81?x")->authority(), "[::1]:81");
  EXPECT_EQ(parse_url("http://[::1]:81?x")->target, "/?x");
  EXPECT_EQ(parse_url("https://a")->port, 443);
}

TEST_F(Client, tls_by_name_and_by_address) {
  serve_tls();
  const TlsClientSettings ca{folder_.path("ca"), "", ""};
  const auto reply = ask_tls(ca);
  ASSERT_TRUE(reply) << reply.error().what;
  EXPECT_EQ(reply->body, "GET q  \n");
  EXPECT_TRUE(ask_tls(ca, "localhost"));
  const auto unknown = ask_tls({});  // an authority that the system does not know
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().what, HasSubstr("certificate verify failed"));
  EXPECT_NE(unknown.error().hint, "");
  EXPECT_TRUE(eventually([&] { return server_->counters().handshake_failures > 0; }));
  EXPECT_FALSE(ask_tls({folder_.path("none"), "", ""}));
  RawClient plain(address());
  plain.get("/echo");
  EXPECT_THAT(plain.rest(), HasSubstr("https://"));
  RawClient noise(address());
  noise.send(std::string(1000, '\x01'));
  noise.half_close();
  noise.rest();
  EXPECT_TRUE(ask_tls(ca));
}

TEST_F(Client, a_certificate_for_another_host_is_refused) {
  serve_tls("", "DNS:other.example");
  EXPECT_THAT(error_of(ask_tls({folder_.path("ca"), "", ""})), HasSubstr("verify failed"));
  EXPECT_THAT(error_of(ask_tls({folder_.path("ca"), "", ""}, "localhost")),
              HasSubstr("verify failed"));
}

TEST_F(Client, a_client_needs_the_right_certificate) {
  serve_tls(
      "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca\n"
      "  client_allowed_sans: [prometheus.example, '10.1.2.3', 'a@b.example', 'urn:x']\n");
  const auto ask_with = [&](const TestCertificate& c) {
    return error_of(ask_tls(with_certificate(c)));
  };
  EXPECT_EQ(ask_with(authority_.issue("p", "DNS:x.example,DNS:prometheus.example")), "");
  EXPECT_EQ(ask_with(authority_.issue("p", "IP:10.1.2.3")), "");
  EXPECT_EQ(ask_with(authority_.issue("p", "email:a@b.example")), "");
  EXPECT_EQ(ask_with(authority_.issue("p", "URI:urn:x")), "");
  EXPECT_NE(ask_with(authority_.issue("p", "DNS:grafana.example")), "");
  EXPECT_NE(ask_with(authority_.issue("prometheus.example", "")), "");  // a name is no SAN
  EXPECT_NE(ask_with(TestAuthority().issue("p", "DNS:prometheus.example")), "");
  EXPECT_NE(error_of(ask_tls({folder_.path("ca"), "", ""})), "");
  EXPECT_TRUE(eventually([&] { return server_->counters().handshake_failures == 4; }));
}

TEST_F(Client, other_policies_for_certificates) {
  const TestAuthority stranger;
  const auto tries = [&](const std::string& type) {
    server_.reset();
    serve_tls("  client_auth_type: " + type + "\n" +
              (type == "NoClientCert" ? "" : "  client_ca_file: ca\n"));
    std::string worked;
    if (ask_tls({folder_.path("ca"), "", ""})) worked += "none ";
    if (ask_tls(with_certificate(authority_.issue("a", "")))) worked += "ours ";
    if (ask_tls(with_certificate(stranger.issue("a", "")))) worked += "strange ";
    return worked;
  };
  EXPECT_EQ(tries("NoClientCert"), "none ours strange ");
  EXPECT_EQ(tries("RequestClientCert"), "none ours strange ");
  EXPECT_EQ(tries("RequireAnyClientCert"), "ours strange ");
  EXPECT_EQ(tries("VerifyClientCertIfGiven"), "none ours ");
  EXPECT_EQ(tries("RequireAndVerifyClientCert"), "ours ");
}

TEST_F(Client, tls_versions_and_ciphers) {
  serve_tls(
      "  max_version: TLS12\n  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]\n"
      "  curve_preferences: [CurveP384]\n");
  EXPECT_EQ(error_of(ask_tls({folder_.path("ca"), "", ""})), "");
}

TEST_F(Client, passwords) {
  serve_tls(
      "http_server_config:\n  headers: {X-Frame-Options: deny}\nbasic_auth_users:\n  alice: " +
      std::string(kSecret) + "\n");
  const TlsClientSettings ca{folder_.path("ca"), "", ""};
  const auto refused = ask_tls(ca);
  ASSERT_TRUE(refused) << refused.error().what;
  EXPECT_EQ(refused->status, 401);
  EXPECT_THAT(refused->header("WWW-Authenticate"), ::testing::StartsWith("Basic realm="));
  EXPECT_EQ(refused->header("X-Frame-Options"), "deny");
  EXPECT_EQ(ask_tls(ca, "localhost", "Basic YWxpY2U6d3Jvbmc=")->status, 401);  // alice:wrong
  EXPECT_EQ(ask_tls(ca, "localhost", "Basic Ym9iOnNlY3JldA==")->status, 401);  // bob:secret
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(ask_tls(ca, "localhost", "Basic YWxpY2U6c2VjcmV0")->status, 200);  // alice:secret
  EXPECT_EQ(server_->counters().unauthorized, 3U);
}

TEST_F(Client, a_changed_configuration_counts_at_once) {
  serve("basic_auth_users: {}\n");
  RawClient kept(address());
  kept.get("/echo");
  EXPECT_EQ(kept.response().status, 200);
  folder_.write("web.yml", "basic_auth_users: {alice: '" + std::string(kSecret) + "'}");
  kept.get("/echo");
  EXPECT_EQ(kept.response().status, 401);
  kept.get("/echo", "Authorization: Basic YWxpY2U6c2VjcmV0\r\n");
  EXPECT_EQ(kept.response().status, 200);
  folder_.write("web.yml", "basic_auth_users: {alice: broken}");
  kept.get("/echo", "Authorization: Basic YWxpY2U6c2VjcmV0\r\n");
  EXPECT_EQ(kept.response().status, 500);
  folder_.write("web.yml", "rate_limit: {interval: 1h, burst: 1}");
  kept.get("/echo");
  EXPECT_EQ(kept.response().status, 200);
  kept.get("/echo");
  EXPECT_EQ(kept.response().status, 429);
  EXPECT_EQ(server_->counters().rate_limited, 1U);
}

}  // namespace
}  // namespace jobscope
