// The reasons of the time identity, by their stable names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "bpf/reason.h"

namespace jobscope {

// Same order and numbers as `enum reason` of the BPF side (bpf/reason.h).
enum class Reason : uint8_t {
  cpu_user,
  cpu_system,
  stolen,
  runqueue,
  throttled,
  disk_read,
  disk_write,
  fsync,
  page_fault,
  file_other,
  remote_fs,
  net_recv,
  net_send,
  net_connect,
  poll,
  pipe,
  unix_socket,
  futex,
  gil,
  barrier,
  sleep,
  wait_child,
  accelerator,
  memory,
  stopped,
  other,
};
constexpr size_t kReasons = REASON_COUNT;
static_assert(static_cast<size_t>(Reason::other) + 1 == kReasons);

// Nanoseconds by reason.
using Parts = std::array<uint64_t, kReasons>;
constexpr uint64_t& part(Parts& parts, Reason reason) { return parts[static_cast<size_t>(reason)]; }
constexpr uint64_t part(const Parts& parts, Reason reason) {
  return parts[static_cast<size_t>(reason)];
}
uint64_t sum(const Parts& parts);
void add(Parts& to, const Parts& from);

// "disk_read": the name used in JSON, metrics and recordings.
std::string_view name(Reason reason);
// "disk read": for people.
std::string_view label(Reason reason);
std::optional<Reason> reason_by_name(std::string_view name);
// True for time on a CPU (cpu_user, cpu_system).
constexpr bool on_cpu(Reason reason) {
  return reason == Reason::cpu_user || reason == Reason::cpu_system;
}
// True for time in which the thread waited for something other than a CPU.
constexpr bool blocked(Reason reason) { return reason > Reason::throttled; }

}  // namespace jobscope
