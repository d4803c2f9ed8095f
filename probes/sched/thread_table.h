// All threads of the job, and the split of their time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>

#include "src/model/snapshot.h"
#include "src/session/probe.h"

namespace jobscope {

// CPU time of a thread in user and kernel mode. The kernel knows the sum exactly and the shares by
// its ticks (utime, stime), so it scales them (kernel/sched/cputime.c, cputime_adjust); a thread
// that no tick met is split as `share` says: the kernel's share among its fellows, 0..1.
struct CpuSplit {
  uint64_t user = 0, system = 0;
};
CpuSplit split_cpu(uint64_t cpu, uint64_t utime, uint64_t stime, double share);

// All threads of the job: the living as of the last look, and the ended. Of very many ended ones
// the later are kept as sums by thread name.
class ThreadTable {
 public:
  static constexpr size_t kMaxEnded = 50'000;

  // What was told of living threads is void; those that still live are told again.
  void begin_look() {
    ++look_;
    living_.clear();
  }
  void add(const ThreadRecord& record);
  // Appends to the snapshot, oldest first.
  void write(uint64_t clock_offset, const ProcessNames& names, std::vector<ThreadUse>& to) const;
  // Appends the living one by one and all ended ones as one sum without a name: as much work as
  // there are living ones, however many there were.
  void write_brief(uint64_t clock_offset, std::vector<ThreadUse>& to) const;

 private:
  struct Kept {
    thread head;
    std::map<uint32_t, uint64_t> cores;
    uint32_t threads = 1;
    bool ended = false;
    uint64_t look = 0;  // the one that told it
  };
  struct Id {
    uint32_t tid;
    uint64_t process;
    uint64_t start;
    auto operator<=>(const Id&) const = default;
  };
  static Kept keep(const ThreadRecord& record);
  static ThreadUse use_of(const Kept& kept, uint64_t clock_offset, double share);
  void fold(const Kept& thread);

  std::map<Id, Kept> threads_;
  std::map<std::pair<uint32_t, std::string>, Kept> folded_;  // by pid 0 and name
  std::set<Id> living_;                                      // as of the last look
  Kept all_ended_{.head = {}, .cores = {}, .threads = 0, .ended = true};
  size_t ended_ = 0;
  uint64_t look_ = 0;
};

}  // namespace jobscope
