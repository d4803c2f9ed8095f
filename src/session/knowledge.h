// What the session knows beside the figures: how to name what the kernel tells by number.
#pragma once

#include <cstdint>
#include <string>

#include "src/session/file_names.h"
#include "src/session/process_names.h"
#include "src/session/waits.h"

namespace jobscope {

struct Knowledge {
  uint32_t cpus = 1;          // possible CPUs: length of per-CPU values and of ThreadRecord::cores
  uint64_t clock_offset = 0;  // CLOCK_MONOTONIC - scheduler's clock, ns
  WaitMap named_waits;        // of all threads, as of this look
  FileNames files;
  ProcessNames processes;
};

}  // namespace jobscope
