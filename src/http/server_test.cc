#include "src/http/server.h"

#include <gmock/gmock.h>
#include <netinet/tcp.h>

#include <atomic>
#include <future>
#include <mutex>
#include <stdexcept>

#include "src/http/raw_client_for_test.h"

namespace jobscope {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Server : public ::testing::Test {
 protected:
  void serve(ServerOptions options = {}) {
    if (options.addresses.empty()) options.addresses = {"127.0.0.1:0"};
    options.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_ += line + "\n";
    };
    auto server = HttpServer::listen(options);
    ASSERT_TRUE(server) << server.error().what;
    server_ = std::move(*server);
    server_->route("/small", [](const HttpRequest&) { return plain_response(200, "small"); });
    server_->route("/big", [this](const HttpRequest&) { return plain_response(200, big_); });
    server_->route("/slow", [this](const HttpRequest&) {
      ++waiting_;
      released_.wait();
      return plain_response(200, "slow");
    });
    server_->route("/fails", [](const HttpRequest&) -> HttpResponse {
      throw std::runtime_error("out of luck");
    });
    server_->route("/echo",
                   [](const HttpRequest& r) {
                     return plain_response(200, r.method + " " + r.path + " ?" + r.query + " " +
                                                    r.header("x-note") + " " + r.body);
                   },
                   {"GET", "POST"});
    server_->route("/files/", [](const HttpRequest& r) { return plain_response(200, r.path); });
    server_->start();
  }
  ~Server() override { release(); }

  RawClient client() const { return RawClient(server_->addresses()[0]); }
  void release() {
    if (!std::exchange(open_, true)) gate_.set_value();
  }
  std::string log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  std::string big_ = std::string(200000, 'b');
  std::atomic<int> waiting_ = 0;
  std::promise<void> gate_;
  std::shared_future<void> released_ = gate_.get_future().share();
  bool open_ = false;
  std::mutex mutex_;
  std::string log_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(Server, get_and_keep_alive) {
  serve();
  RawClient c = client();
  for (int i = 0; i < 3; ++i) {
    c.get("/small");
    const RawResponse r = c.response();
    EXPECT_EQ(r.status, 200);
    EXPECT_EQ(r.body, "small\n");
    EXPECT_EQ(r.header("Content-Type"), "text/plain; charset=utf-8");
    EXPECT_THAT(r.header("Date"), ::testing::EndsWith(" GMT"));
    EXPECT_EQ(r.header("Connection"), "");
  }
  c.get("/small", "Connection: close\r\n");
  EXPECT_EQ(c.response().header("Connection"), "close");
  EXPECT_TRUE(c.ended());
  c.close();
  EXPECT_TRUE(eventually([&] { return server_->counters().open == 0; }));
  EXPECT_EQ(server_->counters().accepted, 1U);
  EXPECT_EQ(server_->counters().responses[2], 4U);
  EXPECT_GT(server_->counters().sent_bytes, 4 * 6U);
}

TEST_F(Server, head_has_the_length_of_get_and_no_body) {
  serve();
  RawClient c = client();
  c.send(
      "HEAD /big HTTP/1.1\r\nHost: x\r\n\r\nHEAD /big HTTP/1.1\r\nHost: x\r\n"
      "Accept-Encoding: gzip\r\n\r\n");
  EXPECT_EQ(c.response(true).header("Content-Length"), std::to_string(big_.size() + 1));
  const RawResponse packed = c.response(true);
  EXPECT_EQ(packed.header("Content-Encoding"), "gzip");
  c.get("/big", "Accept-Encoding: gzip\r\n");
  EXPECT_EQ(c.response().header("Content-Length"), packed.header("Content-Length"));
}

TEST_F(Server, pipelined_requests_are_answered_in_order) {
  serve();
  RawClient c = client();
  std::string all;
  for (int i = 0; i < 50; ++i)
    all += "GET /echo?" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  c.send(all);
  for (int i = 0; i < 50; ++i)
    EXPECT_THAT(c.response().body, HasSubstr("?" + std::to_string(i) + " "));
}

TEST_F(Server, a_request_may_come_byte_by_byte) {
  serve();
  RawClient c = client();
  const int at_once = 1;
  ::setsockopt(c.fd(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
  uint64_t sent = 0;
  for (const char byte : std::string("\r\nGET /echo HTTP/1.1\r\nHost: x\r\nX-Note: n\r\n\r\n")) {
    c.send(std::string(1, byte));
    ++sent;
    EXPECT_TRUE(eventually([&] { return server_->counters().received_bytes == sent; }));
  }
  EXPECT_EQ(c.response().body, "GET /echo ? n \n");
}

TEST_F(Server, http_1_0_closes_unless_asked_not_to) {
  serve();
  RawClient c = client();
  c.send("GET /small HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(c.response().header("Connection"), "keep-alive");
  c.send("GET /small HTTP/1.0\r\n\r\n");
  EXPECT_EQ(c.response().header("Connection"), "close");
  EXPECT_TRUE(c.ended());
}

TEST_F(Server, paths_and_queries) {
  serve();
  RawClient c = client();
  const auto body = [&](const std::string& target) {
    c.get(target);
    return c.response().body;
  };
  EXPECT_EQ(body("/ec%68o?a=%20&b"), "GET /echo ?a=%20&b  \n");
  EXPECT_EQ(body("http://elsewhere:1/echo?q"), "GET /echo ?q  \n");
  EXPECT_EQ(body("/files/a/b"), "/files/a/b\n");
  for (const char* bad : {"/%", "/%g0", "/%00", "nothing"}) {
    RawClient other = client();
    other.get(bad);
    EXPECT_EQ(other.response().status, 400) << bad;
  }
}

TEST_F(Server, bodies) {
  serve();
  RawClient c = client();
  c.send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n"
      "GET /small HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(c.response().body, "POST /echo ?  hello\n");
  EXPECT_EQ(c.response().body, "POST /echo ?  abcdefg\n");
  EXPECT_EQ(c.response().body, "small\n");
}

TEST_F(Server, expect_continue) {
  serve();
  RawClient c = client();
  const std::string head = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n";
  c.send(head + "Expect: 100-continue\r\n\r\n");
  EXPECT_EQ(c.response().status, 100);
  c.send("ok");
  EXPECT_EQ(c.response().body, "POST /echo ?  ok\n");
  c.send(head + "Expect: miracles\r\n\r\n");
  EXPECT_EQ(c.response().status, 417);
  RawClient other = client();
  other.send(
      "POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(other.response().status, 404);  // and no 100
}

TEST_F(Server, unknown_paths_and_methods) {
  serve();
  RawClient c = client();
  c.get("/nowhere");
  const RawResponse missing = c.response();
  EXPECT_EQ(missing.status, 404);
  EXPECT_THAT(missing.body, HasSubstr("/small\n"));
  c.send("DELETE /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  const RawResponse refused = c.response();
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.header("Allow"), "GET, HEAD, POST");
  c.send("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(c.response().status, 404);
  EXPECT_EQ(server_->counters().responses[4], 3U);
}

TEST_F(Server, what_is_no_http_is_refused) {
  serve();
  for (const std::string& bad :
       {std::string("\x16\x03\x01\x02\x00\x01\x00", 7), std::string("hello\r\n\r\n"),
        std::string("GET /small HTTP/1.1\r\n\r\n"),
        std::string("GET /small HTTP/2.0\r\nHost: x\r\n\r\n"),
        std::string("GET /small HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"),
        std::string("GET /small HTTP/1.1\r\nHost : x\r\n\r\n"),
        std::string("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
                    "Content-Length: 2\r\n\r\nab"),
        std::string("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        std::string("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n"),
        std::string(100, 'A')}) {
    RawClient c = client();
    c.send(bad);
    EXPECT_EQ(c.response().status, 400) << bad;
    EXPECT_TRUE(c.ended());
  }
  EXPECT_EQ(server_->counters().bad_requests, 10U);
}

TEST_F(Server, gzip_where_it_is_wanted_and_worth_it) {
  serve();
  RawClient c = client();
  c.get("/big", "Accept-Encoding: deflate, gzip;q=0.5\r\n");
  const RawResponse packed = c.response();
  EXPECT_EQ(packed.header("Content-Encoding"), "gzip");
  EXPECT_EQ(packed.header("Vary"), "Accept-Encoding");
  EXPECT_LT(packed.body.size(), big_.size() / 10);
  EXPECT_EQ(gunzip(packed.body, 1 << 20).value(), big_ + "\n");
  c.get("/big", "Accept-Encoding: gzip;q=0\r\n");
  const RawResponse plain = c.response();
  EXPECT_EQ(plain.header("Content-Encoding"), "");
  EXPECT_EQ(plain.header("Vary"), "Accept-Encoding");
  EXPECT_EQ(plain.body, big_ + "\n");
  c.get("/small", "Accept-Encoding: gzip\r\n");
  EXPECT_EQ(c.response().body, "small\n");
}

TEST_F(Server, an_exception_is_a_500_and_a_line_in_the_log) {
  serve();
  RawClient c = client();
  c.get("/fails");
  const RawResponse r = c.response();
  EXPECT_EQ(r.status, 500);
  EXPECT_THAT(r.body, Not(HasSubstr("luck")));
  EXPECT_THAT(log(), HasSubstr("GET /fails failed: out of luck"));
  c.get("/small");
  EXPECT_EQ(c.response().status, 200);
  for (int i = 0; i < 100; ++i) {
    c.get("/fails");
    c.response();
  }
  EXPECT_EQ(server_->counters().handler_failures, 101U);
  const std::string text = log();
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 20);
}

TEST_F(Server, a_slow_handler_delays_no_other_path) {
  serve();
  std::vector<RawClient> slow;
  for (int i = 0; i < 10; ++i) {
    slow.push_back(client());
    slow.back().get("/slow");
  }
  EXPECT_TRUE(eventually([&] { return waiting_ == 2; }));
  RawClient c = client();
  c.get("/small");
  EXPECT_EQ(c.response().body, "small\n");
  EXPECT_EQ(waiting_, 2);
  release();
  for (RawClient& one : slow) EXPECT_EQ(one.response().body, "slow\n");
}

TEST_F(Server, a_half_closed_connection_gets_its_answer) {
  serve();
  RawClient c = client();
  c.get("/small");
  c.half_close();
  EXPECT_EQ(c.response().body, "small\n");
  EXPECT_TRUE(c.ended());
  RawClient part = client();
  part.send("GET /sma");
  part.half_close();
  EXPECT_TRUE(part.ended());
  EXPECT_TRUE(eventually([&] { return server_->counters().open == 0; }));
}

TEST_F(Server, several_addresses_at_once) {
  const std::string path = ::testing::TempDir() + "/several." + std::to_string(::getpid());
  ServerOptions options;
  options.addresses = {"127.0.0.1:0", "unix://" + path};
  serve(options);
  ASSERT_EQ(server_->addresses().size(), 2U);
  for (const std::string& address : server_->addresses()) {
    RawClient c(address);
    c.get("/small");
    EXPECT_EQ(c.response().body, "small\n") << address;
  }
  server_->stop();
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  EXPECT_FALSE(RawClient(server_->addresses()[0]).connected());
}

TEST_F(Server, stop_ends_idle_clients_and_finishes_requests) {
  ServerOptions options;
  options.stop_time = std::chrono::seconds(60);  // not reached
  serve(options);
  RawClient idle = client(), half = client(), busy = client();
  idle.get("/small");
  EXPECT_EQ(idle.response().status, 200);
  half.send("GET /sm");
  busy.get("/slow");
  EXPECT_TRUE(eventually([&] { return waiting_ == 1; }));
  std::thread stopper([&] { server_->stop(); });
  EXPECT_TRUE(idle.ended());
  EXPECT_TRUE(half.ended());
  release();
  const RawResponse last = busy.response();
  EXPECT_EQ(last.body, "slow\n");
  EXPECT_EQ(last.header("Connection"), "close");
  busy.close();
  stopper.join();
  EXPECT_EQ(server_->counters().open, 0U);
}

TEST_F(Server, stop_does_not_wait_for_clients_that_hang) {
  ServerOptions options;
  options.stop_time = std::chrono::milliseconds(50);
  serve(options);
  big_.assign(20 << 20, 'b');
  RawClient hangs = client();
  hangs.get("/big");  // and reads nothing of it
  EXPECT_TRUE(eventually([&] { return server_->counters().responses[2] == 1; }));
  server_->stop();
  EXPECT_EQ(server_->counters().open, 0U);
  server_->stop();  // again: nothing
}

TEST(ServerStart, without_start_it_stops_too) {
  ServerOptions options;
  EXPECT_FALSE(HttpServer::listen(options));
  options.addresses = {"127.0.0.1:0"};
  auto server = HttpServer::listen(options);
  ASSERT_TRUE(server);
  const RawClient waits((*server)->addresses()[0]);
  server->reset();
}

}  // namespace
}  // namespace jobscope
