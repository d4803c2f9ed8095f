// What the server's connections share. Only for the .cc files of this folder.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "src/http/log_limit.h"
#include "src/http/server.h"
#include "src/http/workers.h"

namespace jobscope {

class Connection;

struct Route {
  std::string path;
  HttpHandler handler;
  std::vector<std::string> methods;
  size_t lane = 0;
};

// All on the loop's thread, once it runs, unless it says otherwise.
struct ServerCore {
  explicit ServerCore(ServerOptions o) : options(std::move(o)), log(options.log) {}

  // What a path belongs to; null: nothing.
  const Route* find(const std::string& path) const;
  // Closes the connection that has idled longest; false if none has long enough.
  bool evict_idle();
  void remove(const std::shared_ptr<Connection>& connection);

  // From any thread.
  void count(uint64_t ServerCounters::*what, uint64_t by = 1) {
    const std::lock_guard lock(counters_mutex);
    counters.*what += by;
  }
  void count_response(int status) {
    const std::lock_guard lock(counters_mutex);
    ++counters.responses[static_cast<size_t>(status / 100) % counters.responses.size()];
  }

  boost::asio::io_context context{1};  // first: what the others hold lives on it
  const ServerOptions options;
  LogLimit log;
  std::mutex counters_mutex;
  ServerCounters counters;
  std::vector<Route> routes;  // longest first; not changed while it runs
  size_t auth_lane = 0;
  bool stopping = false;
  boost::asio::steady_timer stop_timer{context};  // closes what is still there after stop_time
  std::set<std::shared_ptr<Connection>> connections;
  Workers workers;  // last: its threads end before what they use
};

}  // namespace jobscope
