// The processes of the job, the living and the ended.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/model/snapshot.h"
#include "src/session/probe.h"
#include "src/session/process_names.h"

namespace jobscope {

// Splits "a\0b\0c\0".
std::vector<std::string> split_argv(std::string_view bytes);

class ProcessTable {
 public:
  // Of more, those with the least pids are kept as sums by name.
  static constexpr size_t kMaxEnded = 50'000;

  // `now`: CLOCK_MONOTONIC, ns.
  void begin_look(uint64_t now);
  void thread(const ThreadRecord& record);
  void exec(const exec_event& event, std::string_view argv);
  void end(const process_event& event);
  // Makes the OOM killer the one who killed the process that had this pid at that moment
  // (CLOCK_MONOTONIC), and returns its name; nothing if it is not, or not yet, known to be one of
  // the job's.
  std::optional<std::string> oom_killed(uint32_t pid, uint64_t at);

  void write(uint64_t clock_offset, std::vector<ProcessUse>& to);

 private:
  struct Process {
    uint32_t ppid = 0;
    std::string name;
    std::vector<std::string> argv;
    bool argv_truncated = false;
    uint64_t maxrss_at_exec = 0;  // pages
    bool ended = false, oom = false;
    bool attached = false;
    uint64_t cpu = 0;                                          // of ended threads
    std::map<std::pair<uint32_t, uint64_t>, uint64_t> living;  // by tid and start: CPU so far
    uint64_t first = 0, last = 0;  // scheduler's clock: start, end so far
    uint64_t execed = 0;           // CLOCK_MONOTONIC: its last exec
    process_event event{};
  };
  ProcessUse use_of(const ProcessId& id, const Process& process, uint64_t clock_offset) const;
  // Folds ended processes that lived shorter than `brief`, until few enough are left.
  void fold(uint64_t brief);
  void fold();

  std::map<ProcessId, Process> processes_;
  std::set<ProcessId> living_;  // those told by the last look
  std::map<std::string, ProcessUse> folded_;
  size_t ended_ = 0;
  uint64_t last_end_ = 0;   // CLOCK_MONOTONIC
  uint64_t looked_at_ = 0;  // CLOCK_MONOTONIC: when the last look began
};

}  // namespace jobscope
