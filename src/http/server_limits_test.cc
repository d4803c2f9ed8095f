// What the server refuses, and that it goes on meanwhile.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <atomic>
#include <future>
#include <random>

#include "src/http/raw_client_for_test.h"
#include "src/http/server.h"

namespace jobscope {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLong{600'000};  // not reached in a test
constexpr milliseconds kShort{60};

class ServerLimits : public ::testing::Test {
 protected:
  ServerLimits() {
    options_.addresses = {"127.0.0.1:0"};
    options_.header_time = options_.body_time = options_.response_time = kLong;
    options_.idle_time = options_.evict_time = kLong;
  }
  void serve() {
    auto server = HttpServer::listen(options_);
    ASSERT_TRUE(server) << server.error().what;
    server_ = std::move(*server);
    server_->route("/small", [](const HttpRequest&) { return plain_response(200, "small"); });
    server_->route(
        "/big", [](const HttpRequest&) { return plain_response(200, std::string(20 << 20, 'b')); });
    server_->route("/echo", [](const HttpRequest& r) { return plain_response(200, r.body); },
                   {"GET", "POST"});
    server_->start();
  }
  RawClient client() const { return RawClient(server_->addresses()[0]); }
  void expect_alive() const {
    RawClient c = client();
    c.get("/small", "Connection: close\r\n");
    EXPECT_EQ(c.response().body, "small\n");
  }
  ServerCounters counters() const { return server_->counters(); }

  ServerOptions options_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(ServerLimits, header_bytes) {
  options_.header_bytes = 2000;
  serve();
  RawClient fits = client();
  fits.get("/small", "X: " + std::string(1900, 'x') + "\r\n");
  EXPECT_EQ(fits.response().status, 200);
  RawClient large = client();
  large.get("/small", "X: " + std::string(2000, 'x') + "\r\n");
  EXPECT_EQ(large.response().status, 431);
  EXPECT_TRUE(large.ended());
  RawClient endless = client();
  endless.send("GET /");
  while (counters().too_large < 2 && endless.send("xxxxxxxxxxxxxxxx")) {
  }
  EXPECT_EQ(endless.response().status, 431);
}

TEST_F(ServerLimits, body_bytes) {
  options_.body_bytes = 1000;
  serve();
  RawClient fits = client();
  fits.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" +
            std::string(1000, 'x'));
  EXPECT_EQ(fits.response().body.size(), 1001U);
  RawClient told = client();
  told.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_EQ(told.response().status, 413);
  RawClient chunked = client();
  chunked.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 11; ++i) chunked.send("64\r\n" + std::string(100, 'x') + "\r\n");
  EXPECT_EQ(chunked.response().status, 413);
  RawClient line = client();
  line.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;");
  line.send(std::string(100'000, 'x'));
  EXPECT_EQ(line.response().status, 400);
  EXPECT_EQ(counters().too_large, 2U);
  expect_alive();
}

TEST_F(ServerLimits, a_get_has_no_large_body) {
  options_.header_bytes = 1000;
  serve();
  RawClient c = client();
  c.get("/small", "Content-Length: 1001\r\n");
  EXPECT_EQ(c.response().status, 413);
  RawClient small = client();
  small.send("GET /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(small.response().body, "ok\n");
}

TEST_F(ServerLimits, time_for_a_header_is_a_total) {
  options_.header_time = kShort;
  serve();
  RawClient slow = client();
  slow.send("GET /small HTTP/1.1\r\n");
  int pieces = 0;
  while (counters().timed_out == 0 && slow.send("X: y\r\n") && ++pieces < 3000)
    std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(counters().timed_out, 1U);
  EXPECT_EQ(slow.response().status, 408);
  RawClient silent = client();  // that sends nothing at all
  EXPECT_TRUE(silent.ended());
  EXPECT_EQ(counters().timed_out, 2U);
}

// It counts from the first byte.
TEST_F(ServerLimits, time_for_a_later_header) {
  options_.header_time = milliseconds(300);
  serve();
  RawClient c = client();
  c.get("/small");
  ASSERT_EQ(c.response().status, 200);
  std::this_thread::sleep_for(milliseconds(600));
  c.get("/small");
  ASSERT_EQ(c.response().status, 200);
  c.send("GET /sm");
  EXPECT_EQ(c.response().status, 408);
}

TEST_F(ServerLimits, time_for_a_body) {
  options_.body_time = kShort;
  serve();
  RawClient slow = client();
  slow.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc");
  EXPECT_EQ(slow.response().status, 408);
  EXPECT_TRUE(slow.ended());
  EXPECT_EQ(counters().timed_out, 1U);
}

TEST_F(ServerLimits, time_to_take_a_response) {
  options_.response_time = milliseconds(200);
  serve();
  RawClient slow = client();
  slow.get("/big");
  expect_alive();  // meanwhile
  EXPECT_TRUE(eventually([&] { return counters().timed_out == 1; }));
  EXPECT_LT(slow.rest().size(), 20U << 20);
}

TEST_F(ServerLimits, time_to_idle) {
  options_.idle_time = kShort;
  serve();
  RawClient c = client();
  c.get("/small");
  ASSERT_EQ(c.response().status, 200);
  EXPECT_TRUE(c.ended());
  EXPECT_EQ(counters().idle_closed, 1U);
  EXPECT_EQ(counters().timed_out, 0U);
}

TEST_F(ServerLimits, three_hundred_connections) {
  serve();
  RawClient first = client();  // an old one, whose checks go on
  first.get("/small");
  ASSERT_EQ(first.response().status, 200);
  std::vector<RawClient> crowd;
  for (int i = 0; i < 299; ++i) {
    crowd.push_back(client());
    ASSERT_TRUE(crowd.back().connected());
  }
  EXPECT_TRUE(eventually([&] { return counters().accepted + counters().refused == 300; }));
  EXPECT_EQ(counters().open, 256U);
  EXPECT_EQ(counters().refused, 44U);
  first.get("/small");
  EXPECT_EQ(first.response().status, 200);
  int served = 0, refused = 0;
  for (RawClient& c : crowd) {
    c.get("/small");
    const int status = c.response().status;
    served += status == 200;
    refused += status == 503 || status == 0;
  }
  EXPECT_EQ(served, 255);
  EXPECT_EQ(refused, 44);
  crowd.clear();
  EXPECT_TRUE(eventually([&] { return counters().open == 1; }));
  expect_alive();
}

TEST_F(ServerLimits, all_of_three_hundred_where_they_may) {
  options_.connections = 400;
  serve();
  std::vector<RawClient> crowd;
  for (int i = 0; i < 300; ++i) crowd.push_back(client());
  for (RawClient& c : crowd) c.get("/small");
  for (RawClient& c : crowd) EXPECT_EQ(c.response().status, 200);
}

TEST_F(ServerLimits, who_idles_makes_room) {
  options_.connections = 3;
  options_.evict_time = milliseconds(0);
  serve();
  std::vector<RawClient> idle;
  for (int i = 0; i < 3; ++i) {
    idle.push_back(client());
    idle.back().get("/small");
    ASSERT_EQ(idle.back().response().status, 200);
  }
  expect_alive();
  EXPECT_TRUE(idle[0].ended());  // the one that has idled longest
  EXPECT_EQ(counters().evicted, 1U);
  EXPECT_EQ(counters().refused, 0U);
  idle[1].get("/small");
  EXPECT_EQ(idle[1].response().status, 200);
}

TEST_F(ServerLimits, a_refused_client_is_told) {
  options_.connections = 1;
  serve();
  const RawClient holds = client();
  EXPECT_TRUE(eventually([&] { return counters().open == 1; }));
  RawClient late = client();
  EXPECT_EQ(late.response().status, 503);
}

TEST_F(ServerLimits, no_descriptors_left) {
  serve();
  expect_alive();
  RawClient c;
  {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    c = client();  // waits for the server after the last descriptor is taken
    c.get("/small");
    ASSERT_EQ(c.response().status, 200);
    RawClient waits;
    std::vector<Fd> taken;
    rlimit few = before;
    few.rlim_cur = 200;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    for (;;) {
      Fd fd(::dup(c.fd()));
      if (!fd) break;
      taken.push_back(std::move(fd));
    }
    ASSERT_GT(taken.size(), 1U);
    taken.pop_back();
    waits = client();  // takes the last one: none is left to accept it with
    ASSERT_TRUE(waits.connected());
    waits.get("/small");
    EXPECT_TRUE(eventually([&] { return counters().accept_failures > 0; }));
    c.get("/small");  // others are served meanwhile
    EXPECT_EQ(c.response().status, 200);
    EXPECT_LT(counters().accept_failures, 1000U);  // it does not spin
    taken.clear();
    ::setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_EQ(waits.response().status, 200);
  }
  expect_alive();
}

// Requests with bytes changed, left out, doubled, and plain noise. The server answers or closes,
// and lives on. Run with the sanitizers by `make asan`.
TEST_F(ServerLimits, bytes_at_random) {
  options_.header_time = options_.body_time = milliseconds(20);
  options_.header_bytes = 3000;
  options_.body_bytes = 2000;
  serve();
  const std::string samples[] = {
      "GET /small HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip;q=0.3, *;q=0\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\nabcdefghijkl",
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n"
      "5;a=b\r\nabcde\r\n10\r\n0123456789abcdef\r\n0\r\nX: y\r\n\r\n",
      "HEAD /a%20b?c=%zz#d HTTP/1.0\r\nConnection: keep-alive, upgrade\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc"};
  std::mt19937 random(20240607);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  uint64_t answers = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string bytes;
    if (round % 5 == 0) {
      for (size_t i = below(300); i > 0; --i) bytes += static_cast<char>(below(256));
    } else {
      for (size_t i = 0; i <= below(3); ++i) bytes += samples[below(std::size(samples))];
      for (size_t i = 0; i <= below(4); ++i) {
        const size_t at = below(bytes.size());
        switch (below(5)) {
          case 0: bytes[at] = static_cast<char>(below(256)); break;
          case 1: bytes.erase(at, below(20)); break;
          case 2: bytes.insert(at, bytes.substr(below(bytes.size()), below(60))); break;
          case 3: bytes.insert(at, std::string(below(4000), bytes[at])); break;
          case 4: bytes.resize(at + 1); break;
        }
        if (bytes.empty()) bytes = "x";
      }
    }
    RawClient c = client();
    ASSERT_TRUE(c.connected());
    const size_t half = below(bytes.size() + 1);
    c.send(bytes.substr(0, half));
    c.send(bytes.substr(half));
    c.half_close();
    answers += !c.rest().empty();
  }
  EXPECT_GT(answers, 500U);
  expect_alive();
  EXPECT_TRUE(eventually([&] { return counters().open == 0; }));
  EXPECT_GT(counters().bad_requests, 100U);
  EXPECT_GT(counters().responses[2], 100U);
}

}  // namespace
}  // namespace jobscope
