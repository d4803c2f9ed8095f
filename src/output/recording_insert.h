// What the writer of a recording puts into its tables. None of these begins a transaction.
#pragma once

#include <vector>

#include "src/base/result.h"
#include "src/model/findings.h"
#include "src/model/snapshot.h"
#include "src/output/recording_sqlite.h"

namespace jobscope {

// Everything that the reader needs to give the snapshot back.
Result<> insert_snapshot(Database& database, const Snapshot& snapshot);
// The parts of all threads together at this moment; the same moment twice is one interval.
Result<> insert_interval(Database& database, const Snapshot& snapshot);
// For people who query the file: a report finds them anew.
Result<> insert_findings(Database& database, const std::vector<Finding>& findings);

}  // namespace jobscope
