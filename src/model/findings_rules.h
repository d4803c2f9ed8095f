// The rules behind find(): each looks at one View and tells one finding, or none.
//
// A rule's threshold stands above its definition. A rule tells nothing without evidence, and
// nothing about less than 50 ms. To add one: declare it here, put it into the table of findings.cc.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "src/model/findings.h"
#include "src/model/groups.h"

namespace jobscope::rules {

constexpr Nanoseconds kLeast = 50'000'000;
constexpr const char* kMainTime = "the main thread's time";
constexpr const char* kCpuTime = "the job's CPU time";
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// A snapshot with all that more than one rule asks it for. "Main" is the thread of Focus.
struct View {
  explicit View(const Snapshot& of);

  Nanoseconds of_main(Reason reason) const { return part(main, reason); }
  double share_of_main(Nanoseconds time) const { return share_of(time, main_time); }
  // True if this time of the main thread is at least `least` of its life and worth a word.
  bool matters(Nanoseconds time, double least) const;
  // "4.71 s (38 %)": a time of the main thread.
  std::string main_words(Nanoseconds time) const;
  // True if threads have the names of MindSpore's pools.
  bool mindspore() const;

  const Snapshot& snapshot;
  ProcessIndex processes;
  Focus focus;
  JobTotals totals;
  std::vector<ThreadGroup> groups;
  Parts main{};  // of the main thread; zeros if none is known
  Nanoseconds main_time = 0;
  double busy = 0;  // CPUs that the job kept busy
};

// A finding that explains this much of the main thread's time, without words as yet.
Finding about_main(const View& view, const char* id, Nanoseconds time);
// "4.71 s (38 %)"
std::string time_and_share(Nanoseconds time, double share);

using Found = std::optional<Finding>;

// How it ended (findings.cc).
Found killed(const View& view);
// CPUs: who had them, and what they were used for (findings_cpu.cc).
Found throttled(const View& view);
Found lost_cpu(const View& view);
Found stolen(const View& view);
Found yield_spin(const View& view);
Found fork_storm(const View& view);
Found single_threaded(const View& view);
// Waits for devices and for others outside the process (findings_waits.cc).
Found storage(const View& view);
Found page_fault(const View& view);
Found swap(const View& view);
Found memory(const View& view);
Found accelerator(const View& view);
Found idle_wait(const View& view);
Found stopped(const View& view);
// Waits of the job's own threads and processes for each other (findings_sync.cc).
Found loader_children(const View& view);
Found handoff(const View& view);
Found gil(const View& view);
Found barrier(const View& view);

}  // namespace jobscope::rules
