// The sections of the text report, each a function that adds its part to a page.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "src/model/groups.h"
#include "src/model/snapshot.h"
#include "src/output/page.h"

namespace jobscope {

// A snapshot and what more than one section says of it.
struct Subject {
  explicit Subject(const Snapshot& of)
      : snapshot(of),
        processes(of),
        focus(focus_of(of, processes)),
        totals(totals_of(of)),
        groups(thread_groups(of, processes)) {}

  // True if this probe was there to see something, even if not all.
  bool watched(std::string_view probe) const;

  const Snapshot& snapshot;
  ProcessIndex processes;
  Focus focus;
  JobTotals totals;
  std::vector<ThreadGroup> groups;
};

// Threads (report_threads.cc).
void add_main_thread(const Subject& subject, Page& page);
void add_groups(const Subject& subject, Page& page);
void add_waits(const Subject& subject, Page& page);
void add_cores(const Subject& subject, Page& page);

// Devices, files, peers, processes, memory (report_resources.cc).
void add_block_io(const Subject& subject, Page& page);
void add_files(const Subject& subject, Page& page);
void add_network(const Subject& subject, Page& page);
void add_processes(const Subject& subject, Page& page);
void add_memory(const Subject& subject, Page& page);
// What was watched for and did not happen, and what nobody watched.
void add_absent(const Subject& subject, Page& page);
void add_tables(const Subject& subject, Page& page);

}  // namespace jobscope
