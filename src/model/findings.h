// Findings: what explains a job's time, in plain words and with its proof.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "src/model/snapshot.h"

namespace jobscope {

struct Finding {
  std::string id;    // stable: "yield_spin"
  double share = 0;  // 0..1 of `of`; NaN: nobody could measure it
  std::string of;    // "the main thread's time", "the job's CPU time"
  std::string text;  // one or two sentences, with figures
  std::vector<std::pair<std::string, std::string>> evidence;  // what the text rests on
  std::string advice;  // what to do about it; empty where nothing honest can be said

  bool share_known() const { return !std::isnan(share); }
};

// All that the snapshot gives evidence for, by share, largest first, those without a share last.
// Times are of the main thread that Focus (groups.h) names. What explains less than 50 ms is not
// told. Texts hold names as the job gave them: whoever shows them makes them printable.
std::vector<Finding> find(const Snapshot& snapshot);

// "SIGKILL"; "signal 77" for one without a name.
std::string signal_name(int signal);
// "the OOM killer", "kubelet (pid 12)".
std::string killer_name(const Killer& killer);

}  // namespace jobscope
