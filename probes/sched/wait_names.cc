#include "probes/sched/wait_names.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "src/base/syscalls.h"
#include "src/model/reason.h"

namespace jobscope {
namespace {

std::string peer(const wait_key& key) {
  in6_addr address{};
  std::memcpy(&address, key.id, sizeof(address));
  const bool v4 = IN6_IS_ADDR_V4MAPPED(&address);
  if (IN6_IS_ADDR_UNSPECIFIED(&address) || (v4 && address.s6_addr32[3] == 0)) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = v4 ? static_cast<const void*>(&address.s6_addr32[3]) : &address;
  if (!::inet_ntop(v4 ? AF_INET : AF_INET6, bytes, text.data(), text.size())) return {};
  return v4 ? fmt::format("{}:{}", text.data(), key.detail)
            : fmt::format("[{}]:{}", text.data(), key.detail);
}

std::string process_words(uint32_t pid, const Knowledge& knowledge) {
  if (pid == 0) return {};
  const std::string name = knowledge.processes.name_by_pid(pid);
  return name.empty() ? fmt::format("pid {}", pid) : fmt::format("{} (pid {})", name, pid);
}

// The driver behind a character device: its name in /proc/devices is the session's; here the
// number.
std::string device_words(uint64_t device) {
  return device ? fmt::format("device {}:{}", device >> 20, device & 0xFFFFF) : std::string();
}

}  // namespace

std::string wait_target(const wait_key& key, const Knowledge& knowledge) {
  switch (static_cast<Reason>(key.reason)) {
    case Reason::disk_read:
    case Reason::disk_write:
    case Reason::fsync:
    case Reason::page_fault:
    case Reason::file_other:
    case Reason::remote_fs: return knowledge.files.path(file_of(key));
    case Reason::net_recv:
    case Reason::net_send:
    case Reason::net_connect: return peer(key);
    case Reason::unix_socket: return process_words(static_cast<uint32_t>(key.id[0]), knowledge);
    case Reason::pipe: return key.id[0] ? fmt::format("pipe:[{}]", key.id[0]) : std::string();
    case Reason::futex: return knowledge.processes.owner({key.pid, key.process}, key.id[0]);
    case Reason::wait_child: return knowledge.processes.children({key.pid, key.process});
    case Reason::accelerator: return device_words(key.id[0]);
    case Reason::other: return key.detail ? syscall_name(key.detail) : std::string();
    default: return {};
  }
}

}  // namespace jobscope
