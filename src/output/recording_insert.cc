#include "src/output/recording_insert.h"

#include <optional>
#include <string>
#include <string_view>

#include "src/output/json_report.h"
#include "src/output/recording_columns.h"

namespace jobscope {
namespace {

// Binds one row by its columns.
struct Binder {
  Statement& statement;

  void operator()(const char*, const auto& value) { statement.bind(value); }
  void operator()(const char*, Reason reason) { statement.bind(name(reason)); }
  void operator()(const char*, PeerClass peer) { statement.bind(name(peer)); }
  void operator()(const char*, ProbeStatus::State state) { statement.bind(name(state)); }
  void operator()(const char*, const std::optional<Killer>& killer) {
    if (killer) {
      statement.bind(killer->pid);
      statement.bind(killer->name);
    } else {
      statement.bind_null();
      statement.bind_null();
    }
  }
};

Result<Statement> prepare_insert(Database& database, const std::string& table,
                                 const std::string& columns, int count) {
  std::string values = "?";
  for (int i = 1; i < count; ++i) values += ",?";
  return database.prepare("INSERT INTO " + table + "(" + columns + ") VALUES(" + values + ")");
}

template <class T>
Result<> insert_one(Database& database, const char* table, const T& row) {
  const ColumnNames names = column_names<T>();
  Statement insert = TRY(prepare_insert(database, table, names.list, names.count));
  columns(row, Binder{insert});
  return insert.run();
}

// Rows get the ids 1, 2, … of their order.
template <class T>
Result<> insert_all(Database& database, const char* table, const std::vector<T>& rows) {
  const ColumnNames names = column_names<T>();
  Statement insert = TRY(prepare_insert(database, table, "id, " + names.list, names.count + 1));
  for (size_t i = 0; i < rows.size(); ++i) {
    insert.bind(uint64_t{i + 1});
    columns(rows[i], Binder{insert});
    TRY(insert.run());
  }
  return {};
}

Result<> insert_threads(Database& database, const std::vector<ThreadUse>& threads) {
  TRY(insert_all(database, "threads", threads));
  Statement parts = TRY(database.prepare("INSERT INTO thread_parts VALUES(?,?,?)"));
  Statement cores = TRY(database.prepare("INSERT INTO cores VALUES(?,?,?)"));
  uint64_t id = 0;
  for (const ThreadUse& thread : threads) {
    ++id;
    for (size_t i = 0; i < kReasons; ++i) {
      if (thread.parts[i] == 0) continue;
      parts.bind(id);
      parts.bind(name(static_cast<Reason>(i)));
      parts.bind(thread.parts[i]);
      TRY(parts.run());
    }
    for (const auto& [cpu, ns] : thread.cores) {
      cores.bind(id);
      cores.bind(cpu);
      cores.bind(ns);
      TRY(cores.run());
    }
  }
  return {};
}

Result<> insert_processes(Database& database, const std::vector<ProcessUse>& processes) {
  TRY(insert_all(database, "processes", processes));
  Statement arguments = TRY(database.prepare("INSERT INTO process_arguments VALUES(?,?,?)"));
  uint64_t id = 0;
  for (const ProcessUse& process : processes) {
    ++id;
    for (size_t i = 0; i < process.argv.size(); ++i) {
      arguments.bind(id);
      arguments.bind(uint64_t{i});
      arguments.bind(process.argv[i]);
      TRY(arguments.run());
    }
  }
  return {};
}

struct NamedHistogram {
  std::optional<uint64_t> block_io;
  std::string_view name;
  const Histogram* histogram;
};

Result<> insert_histograms(Database& database, const Snapshot& snapshot) {
  std::vector<NamedHistogram> all{{std::nullopt, "runqueue", &snapshot.runqueue}};
  for (size_t i = 0; i < snapshot.block_io.size(); ++i) {
    const BlockIo& io = snapshot.block_io[i];
    all.push_back({i + 1, "latency", &io.latency});
    all.push_back({i + 1, "queue", &io.queue});
    all.push_back({i + 1, "device", &io.device_time});
  }
  Statement head = TRY(database.prepare("INSERT INTO histograms VALUES(?,?,?,?,?)"));
  Statement slots = TRY(database.prepare("INSERT INTO histogram_slots VALUES(?,?,?,?,?)"));
  uint64_t id = 0;
  for (const NamedHistogram& one : all) {
    head.bind(++id);
    head.bind(one.block_io);
    head.bind(one.name);
    head.bind(one.histogram->max);
    head.bind(one.histogram->sum);
    TRY(head.run());
    for (size_t i = 0; i < Histogram::kSlots; ++i) {
      if (one.histogram->slots[i] == 0) continue;
      slots.bind(id);
      slots.bind(uint64_t{i});
      slots.bind(i == 0 ? uint64_t{0} : uint64_t{1} << i);
      if (i + 1 < Histogram::kSlots)
        slots.bind(uint64_t{2} << i);
      else
        slots.bind_null();
      slots.bind(one.histogram->slots[i]);
      TRY(slots.run());
    }
  }
  return {};
}

Result<> insert_tables(Database& database, const std::vector<Table>& tables) {
  TRY(insert_all(database, "tables", tables));
  Statement names = TRY(database.prepare("INSERT INTO table_columns VALUES(?,?,?)"));
  Statement cells = TRY(database.prepare("INSERT INTO table_cells VALUES(?,?,?,?)"));
  const auto cell = [&](uint64_t table, size_t row, size_t column, const std::string* value) {
    cells.bind(table);
    cells.bind(uint64_t{row});
    cells.bind(uint64_t{column});
    if (value != nullptr)
      cells.bind(*value);
    else
      cells.bind_null();
    return cells.run();
  };
  uint64_t id = 0;
  for (const Table& table : tables) {
    ++id;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      names.bind(id);
      names.bind(uint64_t{i});
      names.bind(table.columns[i]);
      TRY(names.run());
    }
    for (size_t row = 0; row < table.rows.size(); ++row) {
      const std::vector<std::string>& values = table.rows[row];
      if (values.empty()) TRY(cell(id, row, 0, nullptr));
      for (size_t i = 0; i < values.size(); ++i) TRY(cell(id, row, i, &values[i]));
    }
  }
  return {};
}

Result<> insert_job(Database& database, const JobRun& job) {
  TRY(insert_one(database, "job", job));
  Statement arguments = TRY(database.prepare("INSERT INTO job_arguments VALUES(?,?)"));
  for (size_t i = 0; i < job.argv.size(); ++i) {
    arguments.bind(uint64_t{i});
    arguments.bind(job.argv[i]);
    TRY(arguments.run());
  }
  return {};
}

Result<> insert_self(Database& database, const SelfCost& self) {
  TRY(insert_one(database, "self", self));
  Statement lost = TRY(database.prepare("INSERT INTO lost VALUES(?,?)"));
  for (const auto& [what, count] : self.lost) {
    lost.bind(what);
    lost.bind(count);
    TRY(lost.run());
  }
  return {};
}

}  // namespace

Result<> insert_snapshot(Database& database, const Snapshot& snapshot) {
  TRY(insert_job(database, snapshot.job));
  TRY(insert_threads(database, snapshot.threads));
  TRY(insert_processes(database, snapshot.processes));
  TRY(insert_all(database, "oom_kills", snapshot.oom_kills));
  TRY(insert_all(database, "block_io", snapshot.block_io));
  TRY(insert_histograms(database, snapshot));
  TRY(insert_all(database, "files", snapshot.files));
  TRY(insert_all(database, "network", snapshot.network));
  TRY(insert_all(database, "waits", snapshot.waits));
  TRY(insert_all(database, "wakers", snapshot.wakers));
  if (snapshot.cgroup) TRY(insert_one(database, "cgroup", *snapshot.cgroup));
  TRY(insert_tables(database, snapshot.tables));
  TRY(insert_all(database, "probes", snapshot.probes));
  return insert_self(database, snapshot.self);
}

Result<> insert_interval(Database& database, const Snapshot& snapshot) {
  Parts parts{};
  for (const ThreadUse& thread : snapshot.threads) add(parts, thread.parts);
  Statement insert = TRY(database.prepare("INSERT OR REPLACE INTO intervals VALUES(?,?,?)"));
  for (size_t i = 0; i < kReasons; ++i) {
    if (parts[i] == 0) continue;
    insert.bind(snapshot.job.elapsed);
    insert.bind(name(static_cast<Reason>(i)));
    insert.bind(parts[i]);
    TRY(insert.run());
  }
  return {};
}

Result<> insert_findings(Database& database, const std::vector<Finding>& findings) {
  Statement insert = TRY(database.prepare("INSERT INTO findings VALUES(?,?,?,?,?,?)"));
  Statement evidence = TRY(database.prepare("INSERT INTO finding_evidence VALUES(?,?,?,?)"));
  uint64_t id = 0;
  for (const Finding& finding : findings) {
    insert.bind(++id);
    insert.bind(finding.id);
    insert.bind(finding.share);
    insert.bind(finding.of);
    insert.bind(finding.text);
    insert.bind(finding.advice);
    TRY(insert.run());
    uint64_t position = 0;
    for (const auto& [what, value] : finding.evidence) {
      evidence.bind(id);
      evidence.bind(position++);
      evidence.bind(what);
      evidence.bind(value);
      TRY(evidence.run());
    }
  }
  return {};
}

}  // namespace jobscope
