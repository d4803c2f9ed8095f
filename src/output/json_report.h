// The report as JSON: a contract for scripts, described in docs/reports.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/model/findings.h"
#include "src/model/snapshot.h"

namespace jobscope {

// Indented JSON with a final newline. Equal input gives equal bytes: keys keep their order. Bytes
// that are not UTF-8 (names and paths on Linux may hold any) become U+FFFD.
std::string json_report(const Snapshot& snapshot, const std::vector<Finding>& findings);

// Stable names, used in JSON and in recordings.
std::string_view name(PeerClass peer);            // "loopback", "unix", "remote"
std::string_view name(ProbeStatus::State state);  // "ok", "degraded", "unavailable"

}  // namespace jobscope
