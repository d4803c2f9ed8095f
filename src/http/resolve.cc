#include "src/http/resolve.h"

#include <netdb.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>

#include "src/base/thread.h"

namespace jobscope {
namespace {

using Addresses = Result<std::vector<SocketAddress>>;

Addresses look_up(const std::string& host, uint16_t port, int flags) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error) return fail("cannot find the host '" + host + "': " + ::gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> found(list, ::freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* one = list; one; one = one->ai_next) {
    SocketAddress address;
    address.bytes = one->ai_addrlen;
    std::memcpy(&address.name, one->ai_addr, one->ai_addrlen);
    addresses.push_back(address);
  }
  return addresses;
}

// What a look-up leaves; its thread may outlive the caller.
struct Answer {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Addresses> addresses;
};

}  // namespace

Addresses resolve(const std::string& host, uint16_t port,
                  std::chrono::steady_clock::time_point deadline) {
  if (auto numeric = look_up(host, port, AI_NUMERICHOST)) return numeric;
  auto answer = std::make_shared<Answer>();
  // getaddrinfo() cannot be told when to give up.
  try {
    start_thread("resolve", [answer, host, port] {
      auto addresses = look_up(host, port, 0);
      const std::lock_guard lock(answer->mutex);
      answer->addresses = std::move(addresses);
      answer->changed.notify_one();
    }).detach();
  } catch (const std::system_error& error) {
    return fail("cannot look for the host '" + host + "': " + error.what());
  }
  std::unique_lock lock(answer->mutex);
  if (answer->changed.wait_until(lock, deadline, [&] { return answer->addresses.has_value(); }))
    return *answer->addresses;
  return fail_errno("cannot find the host '" + host + "'", ETIMEDOUT);
}

}  // namespace jobscope
