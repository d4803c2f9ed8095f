// Names of hosts, with an end to the waiting.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <string>
#include <vector>

#include "src/base/result.h"

namespace jobscope {

struct SocketAddress {
  sockaddr_storage name{};
  socklen_t bytes = 0;
};

// The addresses of a host, in the order in which they should be tried. code is ETIMEDOUT at
// `deadline`.
Result<std::vector<SocketAddress>> resolve(const std::string& host, uint16_t port,
                                           std::chrono::steady_clock::time_point deadline);

}  // namespace jobscope
