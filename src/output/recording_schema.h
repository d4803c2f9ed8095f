// The schema of a recording. docs/reports.md describes it; people query it by hand, so tables and
// columns are only added while the format version stays the same.
//
// Only what SQLite 3.8.2 knows is used: the sqlite3 of an old cluster node opens it too.
#pragma once

#include <cstdint>

namespace jobscope {

constexpr uint32_t kRecordingApplicationId = 0x6a736370;  // "jscp", at offset 68 of the file
constexpr uint32_t kRecordingVersion = 1;                 // PRAGMA user_version, at offset 60

constexpr const char* kRecordingTables = R"sql(
CREATE TABLE recording(          -- one row
  jobscope TEXT NOT NULL,        -- version of the program that wrote it
  finished INTEGER NOT NULL      -- 0: the run did not end, only intervals are there
);
CREATE TABLE job(                -- one row
  name TEXT NOT NULL,
  exit_code INTEGER, signal INTEGER,   -- of the root process
  attached INTEGER NOT NULL,
  started_unix_ns INTEGER NOT NULL,
  start_ns INTEGER NOT NULL, elapsed_ns INTEGER NOT NULL,
  root_pid INTEGER NOT NULL, cpus INTEGER NOT NULL,    -- 0: none, not known
  host TEXT NOT NULL, kernel TEXT NOT NULL
);
CREATE TABLE job_arguments(position INTEGER PRIMARY KEY, argument TEXT NOT NULL);

CREATE TABLE threads(
  id INTEGER PRIMARY KEY,
  pid INTEGER NOT NULL, tid INTEGER NOT NULL, name TEXT NOT NULL,
  start_ns INTEGER NOT NULL, lifetime_ns INTEGER NOT NULL,
  exited INTEGER NOT NULL,
  threads INTEGER NOT NULL,      -- > 1: the sum of so many threads
  migrations INTEGER NOT NULL, node_moves INTEGER NOT NULL,
  voluntary_switches INTEGER NOT NULL, involuntary_switches INTEGER NOT NULL,
  yields INTEGER NOT NULL, yield_wait_ns INTEGER NOT NULL, samples INTEGER NOT NULL, yield_samples INTEGER NOT NULL,
  minor_faults INTEGER NOT NULL, major_faults INTEGER NOT NULL
);
CREATE TABLE thread_parts(       -- a reason that is not there is 0
  thread INTEGER NOT NULL REFERENCES threads(id), reason TEXT NOT NULL, ns INTEGER NOT NULL,
  PRIMARY KEY(thread, reason)
) WITHOUT ROWID;
CREATE TABLE cores(              -- CPU time of a thread by CPU
  thread INTEGER NOT NULL REFERENCES threads(id), cpu INTEGER NOT NULL, ns INTEGER NOT NULL,
  PRIMARY KEY(thread, cpu)
) WITHOUT ROWID;

CREATE TABLE processes(
  id INTEGER PRIMARY KEY,
  pid INTEGER NOT NULL, ppid INTEGER NOT NULL, name TEXT NOT NULL,
  argv_truncated INTEGER NOT NULL,
  start_ns INTEGER NOT NULL, lifetime_ns INTEGER NOT NULL,
  exited INTEGER NOT NULL,
  processes INTEGER NOT NULL,    -- > 1: the sum of so many short-lived processes
  exit_code INTEGER, signal INTEGER,
  killed_by_pid INTEGER, killed_by_name TEXT,
  cpu_ns INTEGER NOT NULL, peak_rss_bytes INTEGER
);
CREATE TABLE process_arguments(
  process INTEGER NOT NULL REFERENCES processes(id), position INTEGER NOT NULL,
  argument TEXT NOT NULL,
  PRIMARY KEY(process, position)
) WITHOUT ROWID;
CREATE TABLE oom_kills(
  id INTEGER PRIMARY KEY,
  pid INTEGER NOT NULL, name TEXT NOT NULL,
  cgroup TEXT NOT NULL,          -- '': the whole machine ran out
  limit_bytes INTEGER, at_ns INTEGER NOT NULL
);

CREATE TABLE block_io(
  id INTEGER PRIMARY KEY,
  device TEXT NOT NULL, operation TEXT NOT NULL,
  charged INTEGER NOT NULL,      -- 0: write-back that no task can be charged with
  count INTEGER NOT NULL, bytes INTEGER NOT NULL, sequential INTEGER NOT NULL
);
CREATE TABLE histograms(
  id INTEGER PRIMARY KEY,
  block_io INTEGER REFERENCES block_io(id),  -- NULL: of the job
  name TEXT NOT NULL,            -- latency, queue, device; runqueue (of the job)
  max_us INTEGER NOT NULL, sum_us INTEGER NOT NULL
);
CREATE TABLE histogram_slots(    -- only slots that are not empty
  histogram INTEGER NOT NULL REFERENCES histograms(id), slot INTEGER NOT NULL,
  from_us INTEGER NOT NULL, to_us INTEGER,   -- from <= value < to; NULL: no bound
  count INTEGER NOT NULL,
  PRIMARY KEY(histogram, slot)
) WITHOUT ROWID;

CREATE TABLE files(
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,            -- '': not known
  wait_ns INTEGER NOT NULL, waits INTEGER NOT NULL, faults INTEGER NOT NULL,
  files INTEGER NOT NULL,        -- > 1: the sum of so many files of this directory
  bytes_read INTEGER, bytes_written INTEGER
);
CREATE TABLE network(
  id INTEGER PRIMARY KEY,
  class TEXT NOT NULL,           -- loopback, unix, remote
  address TEXT NOT NULL,         -- '': the whole class
  bytes_in INTEGER NOT NULL, bytes_out INTEGER NOT NULL, retransmits INTEGER
);
CREATE TABLE waits(
  id INTEGER PRIMARY KEY,
  pid INTEGER NOT NULL, process TEXT NOT NULL, main_thread INTEGER NOT NULL,
  reason TEXT NOT NULL, target TEXT NOT NULL,
  wait_ns INTEGER NOT NULL, waits INTEGER NOT NULL
);
CREATE TABLE wakers(
  id INTEGER PRIMARY KEY,
  pid INTEGER NOT NULL, reason TEXT NOT NULL,
  waker_pid INTEGER NOT NULL, waker_tid INTEGER NOT NULL, waker TEXT NOT NULL,
  wait_ns INTEGER NOT NULL, waits INTEGER NOT NULL
);
CREATE TABLE cgroup(             -- no row: not known
  path TEXT NOT NULL,
  throttled_ns INTEGER, cpu_limit REAL, memory_limit_bytes INTEGER
);

CREATE TABLE tables(             -- tables of figures that a probe adds
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, title TEXT NOT NULL
);
CREATE TABLE table_columns(
  table_id INTEGER NOT NULL REFERENCES tables(id), column_number INTEGER NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY(table_id, column_number)
) WITHOUT ROWID;
CREATE TABLE table_cells(        -- a row without cells is one line with value NULL
  table_id INTEGER NOT NULL REFERENCES tables(id), row_number INTEGER NOT NULL,
  column_number INTEGER NOT NULL, value TEXT,
  PRIMARY KEY(table_id, row_number, column_number)
) WITHOUT ROWID;

CREATE TABLE probes(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL
);
CREATE TABLE self(               -- one row: what jobscope itself cost
  cpu_ns INTEGER NOT NULL, bpf_ns INTEGER,
  rss_bytes INTEGER NOT NULL, map_bytes INTEGER NOT NULL, events_lost INTEGER NOT NULL
);
CREATE TABLE lost(what TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE findings(
  id INTEGER PRIMARY KEY,
  finding TEXT NOT NULL, share REAL, share_of TEXT NOT NULL,
  text TEXT NOT NULL, advice TEXT NOT NULL
);
CREATE TABLE finding_evidence(
  finding INTEGER NOT NULL REFERENCES findings(id), position INTEGER NOT NULL,
  name TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY(finding, position)
) WITHOUT ROWID;

CREATE TABLE intervals(          -- the job's parts from its start until at_ns after it
  at_ns INTEGER NOT NULL, reason TEXT NOT NULL, ns INTEGER NOT NULL,
  PRIMARY KEY(at_ns, reason)
) WITHOUT ROWID;
)sql";

// For people only: no report is made from a view.
constexpr const char* kRecordingViews = R"sql(
CREATE VIEW job_parts AS         -- all threads together
  SELECT reason, sum(ns) AS ns,
         round(100.0 * sum(ns) / (SELECT sum(ns) FROM thread_parts), 2) AS percent
  FROM thread_parts GROUP BY reason ORDER BY 2 DESC;
CREATE VIEW main_thread_parts AS
  SELECT p.reason, p.ns, round(100.0 * p.ns / t.lifetime_ns, 2) AS percent
  FROM job j JOIN threads t ON t.pid = j.root_pid AND t.tid = j.root_pid
       JOIN thread_parts p ON p.thread = t.id
  ORDER BY 2 DESC;
CREATE VIEW thread_times AS
  SELECT t.id, t.pid, t.tid, t.name, t.threads, t.lifetime_ns,
         sum(CASE WHEN p.reason IN ('cpu_user', 'cpu_system') THEN p.ns ELSE 0 END) AS cpu_ns,
         sum(CASE WHEN p.reason IN ('stolen', 'runqueue', 'throttled') THEN p.ns ELSE 0 END)
           AS no_cpu_ns,
         sum(CASE WHEN p.reason IN ('cpu_user', 'cpu_system', 'stolen', 'runqueue', 'throttled')
             THEN 0 ELSE coalesce(p.ns, 0) END) AS blocked_ns
  FROM threads t LEFT JOIN thread_parts p ON p.thread = t.id
  GROUP BY t.id;
CREATE VIEW thread_groups AS     -- threads of one name
  SELECT name, sum(threads) AS threads, sum(cpu_ns) AS cpu_ns, sum(no_cpu_ns) AS no_cpu_ns,
         sum(blocked_ns) AS blocked_ns
  FROM thread_times GROUP BY name ORDER BY 3 DESC;
CREATE VIEW core_times AS
  SELECT cpu, sum(ns) AS ns, count(*) AS threads FROM cores GROUP BY cpu ORDER BY cpu;
CREATE VIEW commands AS          -- processes with their command line
  SELECT p.id, p.pid, p.ppid,
         coalesce((SELECT group_concat(argument, ' ') FROM
                     (SELECT argument FROM process_arguments a WHERE a.process = p.id
                      ORDER BY position)), p.name) AS command,
         p.processes, p.lifetime_ns, p.cpu_ns, p.peak_rss_bytes, p.exit_code, p.signal
  FROM processes p;
CREATE VIEW latencies AS         -- block I/O and run queue, one line per slot
  SELECT b.device, b.operation, b.charged, h.name, s.from_us, s.to_us, s.count
  FROM histograms h LEFT JOIN block_io b ON b.id = h.block_io
       JOIN histogram_slots s ON s.histogram = h.id
  ORDER BY h.id, s.slot;
CREATE VIEW table_lines AS       -- the probes' tables as text
  SELECT t.name, c.row_number, group_concat(c.value, ' | ') AS line
  FROM tables t JOIN (SELECT * FROM table_cells ORDER BY table_id, row_number, column_number) c
       ON c.table_id = t.id
  GROUP BY t.id, c.row_number;
CREATE VIEW interval_parts AS    -- of each interval alone
  SELECT at_ns, reason,
         ns - coalesce((SELECT b.ns FROM intervals b
                        WHERE b.at_ns < i.at_ns AND b.reason = i.reason
                        ORDER BY b.at_ns DESC LIMIT 1), 0) AS ns
  FROM intervals i;
)sql";

}  // namespace jobscope
