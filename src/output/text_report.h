// The report a person reads: the verdict, then the split of time, then the detail.
#pragma once

#include <string>

#include "src/model/snapshot.h"
#include "src/output/terminal.h"

namespace jobscope {

// Depends on its arguments only: not on the clock, the locale or the order of the snapshot's
// vectors, so that a recording read back gives the same text. No line is wider than style.width
// (at least 40), all text in it is printable, the last line says what jobscope itself cost.
std::string text_report(const Snapshot& snapshot, const TextStyle& style);

}  // namespace jobscope
