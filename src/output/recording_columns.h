// Which field of the model is which column of a recording: one list for each table that has one
// row per element. The writer inserts by these lists and the reader selects by them.
//
// A visitor is called as visit("column", field) from left to right; a Killer is two columns.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "src/model/snapshot.h"

namespace jobscope {

template <class Row, class T>
concept RowOf = std::is_same_v<std::remove_const_t<Row>, T>;

void columns(RowOf<JobRun> auto& job, auto&& visit) {
  visit("name", job.name);
  visit("exit_code", job.exit_code);
  visit("signal", job.signal);
  visit("attached", job.attached);
  visit("started_unix_ns", job.started_unix_ns);
  visit("start_ns", job.start);
  visit("elapsed_ns", job.elapsed);
  visit("root_pid", job.root_pid);
  visit("cpus", job.cpus);
  visit("host", job.host);
  visit("kernel", job.kernel);
}

void columns(RowOf<ThreadUse> auto& thread, auto&& visit) {
  visit("pid", thread.pid);
  visit("tid", thread.tid);
  visit("name", thread.name);
  visit("start_ns", thread.start);
  visit("lifetime_ns", thread.lifetime);
  visit("exited", thread.exited);
  visit("threads", thread.threads);
  visit("migrations", thread.migrations);
  visit("node_moves", thread.node_moves);
  visit("voluntary_switches", thread.voluntary);
  visit("involuntary_switches", thread.involuntary);
  visit("yields", thread.yields);
  visit("yield_wait_ns", thread.yield_wait);
  visit("samples", thread.samples);
  visit("yield_samples", thread.yield_samples);
  visit("minor_faults", thread.minor_faults);
  visit("major_faults", thread.major_faults);
}

void columns(RowOf<ProcessUse> auto& process, auto&& visit) {
  visit("pid", process.pid);
  visit("ppid", process.ppid);
  visit("name", process.name);
  visit("argv_truncated", process.argv_truncated);
  visit("start_ns", process.start);
  visit("lifetime_ns", process.lifetime);
  visit("exited", process.exited);
  visit("processes", process.processes);
  visit("exit_code", process.exit_code);
  visit("signal", process.signal);
  visit("killed_by", process.killed_by);
  visit("cpu_ns", process.cpu);
  visit("peak_rss_bytes", process.peak_rss);
}

void columns(RowOf<OomKill> auto& kill, auto&& visit) {
  visit("pid", kill.pid);
  visit("name", kill.name);
  visit("cgroup", kill.cgroup);
  visit("limit_bytes", kill.limit);
  visit("at_ns", kill.at);
}

void columns(RowOf<BlockIo> auto& io, auto&& visit) {
  visit("device", io.device);
  visit("operation", io.operation);
  visit("charged", io.charged);
  visit("count", io.count);
  visit("bytes", io.bytes);
  visit("sequential", io.sequential);
}

void columns(RowOf<FileUse> auto& file, auto&& visit) {
  visit("path", file.path);
  visit("wait_ns", file.wait);
  visit("waits", file.waits);
  visit("faults", file.faults);
  visit("files", file.files);
  visit("bytes_read", file.bytes_read);
  visit("bytes_written", file.bytes_written);
}

void columns(RowOf<NetworkUse> auto& use, auto&& visit) {
  visit("class", use.peer);
  visit("address", use.address);
  visit("bytes_in", use.bytes_in);
  visit("bytes_out", use.bytes_out);
  visit("retransmits", use.retransmits);
}

void columns(RowOf<WaitUse> auto& wait, auto&& visit) {
  visit("pid", wait.pid);
  visit("process", wait.process);
  visit("main_thread", wait.main_thread);
  visit("reason", wait.reason);
  visit("target", wait.target);
  visit("wait_ns", wait.wait);
  visit("waits", wait.waits);
}

void columns(RowOf<WakerUse> auto& use, auto&& visit) {
  visit("pid", use.pid);
  visit("reason", use.reason);
  visit("waker_pid", use.waker_pid);
  visit("waker_tid", use.waker_tid);
  visit("waker", use.waker);
  visit("wait_ns", use.wait);
  visit("waits", use.waits);
}

void columns(RowOf<CgroupUse> auto& cgroup, auto&& visit) {
  visit("path", cgroup.path);
  visit("throttled_ns", cgroup.throttled);
  visit("cpu_limit", cgroup.cpu_limit);
  visit("memory_limit_bytes", cgroup.memory_limit);
}

void columns(RowOf<Table> auto& table, auto&& visit) {
  visit("name", table.name);
  visit("title", table.title);
}

void columns(RowOf<ProbeStatus> auto& probe, auto&& visit) {
  visit("name", probe.name);
  visit("state", probe.state);
  visit("reason", probe.reason);
}

void columns(RowOf<SelfCost> auto& self, auto&& visit) {
  visit("cpu_ns", self.cpu);
  visit("bpf_ns", self.bpf);
  visit("rss_bytes", self.rss);
  visit("map_bytes", self.map_bytes);
  visit("events_lost", self.events_lost);
}

// The columns of a table, "pid, name, …", and how many they are.
struct ColumnNames {
  std::string list;
  int count = 0;

  void operator()(const char* column, const auto&) { add(column); }
  void operator()(const char* prefix, const std::optional<Killer>&) {
    add(std::string(prefix) + "_pid");
    add(std::string(prefix) + "_name");
  }

 private:
  void add(const std::string& column) { list += (count++ > 0 ? ", " : "") + column; }
};

template <class T>
ColumnNames column_names() {
  ColumnNames names;
  T row{};
  columns(row, names);
  return names;
}

}  // namespace jobscope
