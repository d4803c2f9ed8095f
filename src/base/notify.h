// Tells the service manager how we do: sd_notify(3), without libsystemd.
#pragma once

#include <string>
#include <string_view>

#include "src/base/result.h"

namespace jobscope {

// Sends one message, as "READY=1\nSTATUS=serving at :9435". `socket` is $NOTIFY_SOCKET: a path, or
// "@name" in the abstract namespace; "": nobody asked, and nothing is sent. Never waits: what the
// manager has no room for is an error.
Result<> notify_service_manager(const std::string& socket, std::string_view message);

}  // namespace jobscope
