#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "src/output/recording.h"
#include "src/output/recording_columns.h"
#include "src/output/recording_header.h"
#include "src/output/recording_row.h"
#include "src/output/recording_sqlite.h"

namespace jobscope {
namespace {

constexpr const char* kMakeOne = "recordings are made by `jobscope run -o FILE -- CMD`";
// Longer than any text of a run: the kernel allows an argument 128 KiB.
constexpr int kMaxText = 16 << 20;

// How many of its kind a row is the sum of. Never 0, and readers may divide by it.
uint64_t folded(const auto&) { return 1; }
uint64_t folded(const ThreadUse& thread) { return thread.threads; }
uint64_t folded(const ProcessUse& process) { return process.processes; }
uint64_t folded(const FileUse& file) { return file.files; }

// The ids of rows already read, in their order, to find the row that another table means.
using Ids = std::vector<int64_t>;

constexpr uint32_t kMostCpus = 1 << 16;  // the kernel's CONFIG_NR_CPUS goes to 8192

class Reader {
 public:
  Reader(Database database, std::string action)
      : database_(std::move(database)), action_(std::move(action)) {}

  Result<bool> finished() {
    bool finished = false;
    TRY(each("recording", "finished", "", [&](Row& row) { row("finished", finished); }));
    return finished;
  }

  Result<Snapshot> snapshot() {
    Snapshot out;
    TRY(read_job(out.job));
    if (out.job.cpus > kMostCpus) return tl::unexpected(damaged("no machine has so many CPUs"));
    TRY(read_threads(out.threads));
    TRY(read_processes(out.processes));
    TRY(rows("oom_kills", out.oom_kills));
    const Ids block_io = TRY(rows("block_io", out.block_io));
    TRY(read_histograms(out, block_io));
    TRY(rows("files", out.files));
    TRY(rows("network", out.network));
    TRY(rows("waits", out.waits));
    TRY(rows("wakers", out.wakers));
    std::vector<CgroupUse> cgroups;
    TRY(unnumbered("cgroup", cgroups));
    if (!cgroups.empty()) out.cgroup = std::move(cgroups.front());
    TRY(read_tables(out.tables));
    TRY(rows("probes", out.probes));
    TRY(read_self(out.self));
    return out;
  }

 private:
  Error damaged(const std::string& why) const {
    return {action_ + ": the file is damaged: " + why, "make a new recording", 0};
  }

  // Calls read(row) for each row of a table.
  template <class F>
  Result<> each(const char* table, const std::string& columns, const std::string& order, F read) {
    Statement select = TRY(database_.prepare("SELECT " + columns + " FROM " + table +
                                             (order.empty() ? "" : " ORDER BY " + order)));
    while (TRY(select.step())) {
      Row row(select.get(), table);
      read(row);
      if (!row.error().empty()) return tl::unexpected(damaged(row.error()));
    }
    return {};
  }

  // A table with ids: its rows in their order.
  template <class T>
  Result<Ids> rows(const char* table, std::vector<T>& out) {
    Ids ids;
    TRY(each(table, "id, " + column_names<T>().list, "id", [&](Row& row) {
      row("id", ids.emplace_back());
      columns(out.emplace_back(), row);
      if (folded(out.back()) == 0) row.refuse("zero", table);  // the column has the table's name
    }));
    return ids;
  }

  template <class T>
  Result<> unnumbered(const char* table, std::vector<T>& out) {
    return each(table, column_names<T>().list, "",
                [&](Row& row) { columns(out.emplace_back(), row); });
  }

  template <class T>
  Result<T> only_row(const char* table) {
    std::vector<T> all;
    TRY(unnumbered(table, all));
    if (all.size() != 1) return tl::unexpected(damaged(std::string(table) + " has not one row"));
    return std::move(all.front());
  }

  // The element with this id; null if there is none.
  template <class T>
  static T* element(int64_t id, const Ids& ids, std::vector<T>& all) {
    const auto found = std::lower_bound(ids.begin(), ids.end(), id);
    if (found == ids.end() || *found != id) return nullptr;
    return &all[static_cast<size_t>(found - ids.begin())];
  }

  // The element that the next column of `row` names by its id; null and an error if there is none.
  template <class T>
  static T* owner(Row& row, const char* column, const Ids& ids, std::vector<T>& all) {
    int64_t id = 0;
    row(column, id);
    if (!row.error().empty()) return nullptr;
    T* found = element(id, ids, all);
    if (found == nullptr) row.refuse("of no row");
    return found;
  }

  Result<> read_job(JobRun& job) {
    job = TRY(only_row<JobRun>("job"));
    return each("job_arguments", "argument", "position",
                [&](Row& row) { row("argument", job.argv.emplace_back()); });
  }

  Result<> read_threads(std::vector<ThreadUse>& threads) {
    const Ids ids = TRY(rows("threads", threads));
    TRY(each("thread_parts", "thread, reason, ns", "", [&](Row& row) {
      ThreadUse* thread = owner(row, "thread", ids, threads);
      Reason reason{};
      row("reason", reason);
      if (thread != nullptr) row("ns", part(thread->parts, reason));
    }));
    return each("cores", "thread, cpu, ns", "", [&](Row& row) {
      ThreadUse* thread = owner(row, "thread", ids, threads);
      uint32_t cpu = 0;
      row("cpu", cpu);
      if (thread != nullptr) row("ns", thread->cores[cpu]);
    });
  }

  Result<> read_processes(std::vector<ProcessUse>& processes) {
    const Ids ids = TRY(rows("processes", processes));
    return each("process_arguments", "process, argument", "process, position", [&](Row& row) {
      ProcessUse* process = owner(row, "process", ids, processes);
      if (process != nullptr) row("argument", process->argv.emplace_back());
    });
  }

  static Histogram* histogram_of(Snapshot& snapshot, const Ids& block_io, std::optional<int64_t> id,
                                 const std::string& name) {
    if (!id) return name == "runqueue" ? &snapshot.runqueue : nullptr;
    BlockIo* io = element(*id, block_io, snapshot.block_io);
    if (io == nullptr) return nullptr;
    if (name == "latency") return &io->latency;
    if (name == "queue") return &io->queue;
    return name == "device" ? &io->device_time : nullptr;
  }

  Result<> read_histograms(Snapshot& snapshot, const Ids& block_io) {
    Ids ids;
    std::vector<Histogram*> all;
    TRY(each("histograms", "id, block_io, name, max_us, sum_us", "id", [&](Row& row) {
      std::optional<int64_t> io;
      std::string name;
      row("id", ids.emplace_back());
      row("block_io", io);
      row("name", name);
      Histogram* histogram = histogram_of(snapshot, block_io, io, name);
      if (histogram == nullptr) return row.refuse("of no row");
      all.push_back(histogram);
      row("max_us", histogram->max);
      row("sum_us", histogram->sum);
    }));
    return each("histogram_slots", "histogram, slot, count", "", [&](Row& row) {
      Histogram** histogram = owner(row, "histogram", ids, all);
      size_t slot = 0;
      row("slot", slot);
      if (slot >= Histogram::kSlots)
        row.refuse("out of range");
      else if (histogram != nullptr)
        row("count", (*histogram)->slots[slot]);
    });
  }

  Result<> read_tables(std::vector<Table>& tables) {
    const Ids ids = TRY(rows("tables", tables));
    TRY(each("table_columns", "table_id, name", "table_id, column_number", [&](Row& row) {
      Table* table = owner(row, "table_id", ids, tables);
      if (table != nullptr) row("name", table->columns.emplace_back());
    }));
    const Table* last = nullptr;
    int64_t last_number = -1;
    return each("table_cells", "table_id, row_number, value", "table_id, row_number, column_number",
                [&](Row& row) {
                  Table* table = owner(row, "table_id", ids, tables);
                  int64_t number = 0;
                  row("row_number", number);
                  if (table == nullptr) return;
                  if (table != last || number != last_number) table->rows.emplace_back();
                  last = table;
                  last_number = number;
                  std::optional<std::string> value;
                  row("value", value);
                  if (value) table->rows.back().push_back(std::move(*value));
                });
  }

  Result<> read_self(SelfCost& self) {
    self = TRY(only_row<SelfCost>("self"));
    return each("lost", "what, count", "", [&](Row& row) {
      std::string what;
      row("what", what);
      row("count", self.lost[what]);
    });
  }

  Database database_;
  std::string action_;
};

// A URI, because only there `immutable` can be asked for: no locks, no journal, nothing written.
std::string uri_of(const std::string& path) {
  std::string out = path.starts_with('/') ? "file://" : "file:./";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '-' || c == '_';
    if (plain) {
      out += c;
    } else {
      constexpr const char* kHex = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out + "?immutable=1";
}

// Says in one line why a file cannot be read as a recording, before SQLite looks at it.
Result<> check_file(const std::string& path, const std::string& action) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return fail_errno(action, errno, errno == ENOENT ? kMakeOne : "");
  if (S_ISDIR(status.st_mode)) return fail(action + ": it is a directory", kMakeOne);
  if (!S_ISREG(status.st_mode)) return fail(action + ": it is not a regular file", kMakeOne);
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return fail_errno(action);
  if (status.st_size == 0) return fail(action + ": the file is empty", kMakeOne);
  const RecordingHeader header = TRY(read_recording_header(file.get(), action));
  if (!header.ours)
    return fail(action + (header.sqlite ? ": it is another program's database"
                                        : ": it is not a recording of jobscope"),
                kMakeOne);
  if (header.version > kRecordingVersion)
    return fail(action + ": a newer jobscope made it (format " + std::to_string(header.version) +
                    "; this one reads up to " + std::to_string(kRecordingVersion) + ")",
                "read it with that jobscope, or a newer one");
  if (header.version == 0) return fail(action + ": the file is damaged", "make a new recording");
  if (::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return fail(action + ": its run has not ended yet", "wait until it has");
  return {};
}

Result<Database> open_database(const std::string& path, const std::string& action) {
  TRY(check_path_length(path, action));
  Database database =
      TRY(Database::open(uri_of(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr, action));
  // Nothing that a file brings along may run: no views, no triggers, no functions of its schema.
  sqlite3_db_config(database.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database.get(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(database.get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_limit(database.get(), SQLITE_LIMIT_LENGTH, kMaxText);
  TRY(
      database.run("PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON; "
                   "PRAGMA ignore_check_constraints=ON"));
  return database;
}

// A table of ours has stored columns only. Others could compute, for as long as they like.
Result<> check_schema(Database& database, const std::string& action) {
  Statement check = TRY(
      database.prepare("SELECT name FROM sqlite_master t WHERE type = 'table' AND (rootpage = 0 OR "
                       "EXISTS (SELECT 1 FROM pragma_table_xinfo(t.name) WHERE hidden <> 0))"));
  if (!TRY(check.step())) return {};
  return fail(action + ": the file is damaged: it holds a table that jobscope did not make",
              "make a new recording");
}

// Sees pages that are cut off, or used twice: a small file could hold rows without end.
Result<> check_pages(Database& database, const std::string& action) {
  Statement check = TRY(database.prepare("PRAGMA quick_check(1)"));
  if (TRY(check.step())) {
    const auto* answer = reinterpret_cast<const char*>(sqlite3_column_text(check.get(), 0));
    if (answer != nullptr && std::string_view(answer) == "ok") return {};
  }
  return fail(action + ": the file is damaged or cut short", "make a new recording");
}

}  // namespace

Result<Snapshot> read_recording(const std::string& path) {
  const std::string action = "cannot read " + path;
  TRY(check_file(path, action));
  Database database = TRY(open_database(path, action));
  TRY(check_schema(database, action));
  TRY(check_pages(database, action));
  Reader reader(std::move(database), action);
  if (!TRY(reader.finished()))
    return fail(action +
                    ": it is of a run that did not end: jobscope was killed, or could not "
                    "write the end",
                "what it has: sqlite3 FILE 'SELECT * FROM interval_parts'");
  return reader.snapshot();
}

}  // namespace jobscope
