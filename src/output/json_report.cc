#include "src/output/json_report.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

namespace jobscope {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json nullable(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// The model says "not known" or "none" of a text by leaving it empty.
Json nullable(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

template <class T>
Json list(const std::vector<T>& rows, Json (*object)(const T&)) {
  Json out = Json::array();
  out.get_ref<Json::array_t&>().reserve(rows.size());
  for (const T& row : rows) out.push_back(object(row));
  return out;
}

// Adds a member that is never lost: a key that is taken already gets a number.
void add_member(Json& object, const std::string& key, Json value) {
  std::string free = key;
  for (int n = 2; object.contains(free); ++n) free = key + "_" + std::to_string(n);
  object[free] = std::move(value);
}

// Keys are exclusive upper bounds in µs.
Json buckets(const Histogram& histogram) {
  Json out = Json::object();
  for (size_t i = 0; i < Histogram::kSlots; ++i) {
    if (histogram.slots[i] == 0) continue;
    const bool last = i + 1 == Histogram::kSlots;
    out[last ? "+Inf" : std::to_string(uint64_t{2} << i)] = histogram.slots[i];
  }
  return out;
}

Json histogram_us(const Histogram& histogram) {
  const bool any = histogram.count() > 0;
  // An estimate inside its slot: tenths of a µs are more than it is good for.
  const auto quantile = [&](double q) {
    return any ? Json(std::round(histogram.quantile(q) * 10) / 10) : Json(nullptr);
  };
  Json out;
  out["p50"] = quantile(0.5);
  out["p99"] = quantile(0.99);
  out["max"] = any ? Json(histogram.max) : Json(nullptr);
  out["sum"] = histogram.sum;
  out["buckets"] = buckets(histogram);
  return out;
}

Json job_object(const Snapshot& snapshot) {
  const JobRun& job = snapshot.job;
  Nanoseconds cpu = 0;
  for (const ThreadUse& thread : snapshot.threads) cpu += thread.cpu();
  Json out;
  out["name"] = job.name;
  out["argv"] = job.argv;
  out["exit_code"] = nullable(job.exit_code);
  out["signal"] = nullable(job.signal);
  out["attached"] = job.attached;
  out["started_unix_ns"] = job.started_unix_ns;
  out["start_ns"] = job.start;
  out["elapsed_ns"] = job.elapsed;
  out["cpu_ns"] = cpu;
  out["cpus"] = job.cpus > 0 ? Json(job.cpus) : Json(nullptr);
  out["root_pid"] = job.root_pid > 0 ? Json(job.root_pid) : Json(nullptr);
  out["host"] = nullable(job.host);
  out["kernel"] = nullable(job.kernel);
  return out;
}

Json thread_object(const ThreadUse& thread) {
  Json parts = Json::object();
  for (size_t i = 0; i < kReasons; ++i)
    if (thread.parts[i] > 0) parts[std::string(name(static_cast<Reason>(i)))] = thread.parts[i];
  Json cores = Json::object();
  for (const auto& [cpu, ns] : thread.cores) cores[std::to_string(cpu)] = ns;
  Json out;
  out["pid"] = thread.pid;
  out["tid"] = thread.tid;
  out["name"] = thread.name;
  out["start_ns"] = thread.start;
  out["lifetime_ns"] = thread.lifetime;
  out["exited"] = thread.exited;
  if (thread.threads > 1) out["threads"] = thread.threads;
  out["parts"] = std::move(parts);
  out["cores"] = std::move(cores);
  out["migrations"] = thread.migrations;
  out["node_moves"] = thread.node_moves;
  out["switches"]["voluntary"] = thread.voluntary;
  out["switches"]["involuntary"] = thread.involuntary;
  out["yields"] = thread.yields;
  out["yield_wait_ns"] = thread.yield_wait;
  out["samples"] = thread.samples;
  out["yield_samples"] = thread.yield_samples;
  out["faults"]["minor"] = thread.minor_faults;
  out["faults"]["major"] = thread.major_faults;
  return out;
}

Json process_object(const ProcessUse& process) {
  Json out;
  out["pid"] = process.pid;
  out["ppid"] = process.ppid;
  out["name"] = process.name;
  out["argv"] = process.argv;
  if (process.argv_truncated) out["argv_truncated"] = true;
  out["start_ns"] = process.start;
  out["lifetime_ns"] = process.lifetime;
  out["exited"] = process.exited;
  if (process.processes > 1) out["processes"] = process.processes;
  out["exit_code"] = nullable(process.exit_code);
  out["signal"] = nullable(process.signal);
  out["killed_by"] = nullptr;
  if (process.killed_by) {
    out["killed_by"]["pid"] = process.killed_by->pid;
    out["killed_by"]["name"] = process.killed_by->name;
  }
  out["cpu_ns"] = process.cpu;
  out["peak_rss_bytes"] = nullable(process.peak_rss);
  return out;
}

Json oom_kill_object(const OomKill& kill) {
  Json out;
  out["pid"] = kill.pid;
  out["name"] = kill.name;
  out["cgroup"] = kill.cgroup;
  out["limit_bytes"] = nullable(kill.limit);
  out["at_ns"] = kill.at;
  return out;
}

Json block_io_object(const BlockIo& io) {
  Json out;
  out["device"] = io.device;
  out["operation"] = io.operation;
  out["charged"] = io.charged;
  out["count"] = io.count;
  out["bytes"] = io.bytes;
  out["sequential"] = io.sequential;
  out["latency_us"] = histogram_us(io.latency);
  out["queue_us"] = histogram_us(io.queue);
  out["device_us"] = histogram_us(io.device_time);
  return out;
}

Json file_object(const FileUse& file) {
  Json out;
  out["path"] = nullable(file.path);
  out["wait_ns"] = file.wait;
  out["waits"] = file.waits;
  out["faults"] = file.faults;
  out["files"] = file.files;
  out["bytes_read"] = nullable(file.bytes_read);
  out["bytes_written"] = nullable(file.bytes_written);
  return out;
}

Json network_object(const NetworkUse& use) {
  Json out;
  out["class"] = name(use.peer);
  out["address"] = nullable(use.address);
  out["bytes_in"] = use.bytes_in;
  out["bytes_out"] = use.bytes_out;
  out["retransmits"] = nullable(use.retransmits);
  return out;
}

Json wait_object(const WaitUse& wait) {
  Json out;
  out["pid"] = wait.pid;
  out["process"] = wait.process;
  out["main_thread"] = wait.main_thread;
  out["reason"] = name(wait.reason);
  out["target"] = nullable(wait.target);
  out["wait_ns"] = wait.wait;
  out["waits"] = wait.waits;
  return out;
}

Json waker_object(const WakerUse& use) {
  Json out;
  out["pid"] = use.pid;
  out["reason"] = name(use.reason);
  out["waker_pid"] = use.waker_pid;
  out["waker_tid"] = use.waker_tid;
  out["waker"] = use.waker;
  out["wait_ns"] = use.wait;
  out["waits"] = use.waits;
  return out;
}

Json cgroup_object(const std::optional<CgroupUse>& cgroup) {
  if (!cgroup) return nullptr;
  Json out;
  out["path"] = cgroup->path;
  out["throttled_ns"] = nullable(cgroup->throttled);
  out["cpu_limit"] = nullable(cgroup->cpu_limit);
  out["memory_limit_bytes"] = nullable(cgroup->memory_limit);
  return out;
}

Json tables_object(const std::vector<Table>& tables) {
  Json out = Json::object();
  for (const Table& table : tables) {
    Json one;
    one["title"] = table.title;
    one["columns"] = table.columns;
    one["rows"] = table.rows;
    add_member(out, table.name, std::move(one));
  }
  return out;
}

Json probe_object(const ProbeStatus& probe) {
  Json out;
  out["name"] = probe.name;
  out["state"] = name(probe.state);
  out["reason"] = nullable(probe.reason);
  return out;
}

Json finding_object(const Finding& finding) {
  Json evidence = Json::object();
  for (const auto& [what, value] : finding.evidence) add_member(evidence, what, value);
  Json out;
  out["id"] = finding.id;
  out["share"] = std::round(finding.share * 1e6) / 1e6;
  out["of"] = finding.of;
  out["text"] = finding.text;
  out["evidence"] = std::move(evidence);
  out["advice"] = nullable(finding.advice);
  return out;
}

Json self_object(const SelfCost& self) {
  Json out;
  out["cpu_ns"] = self.cpu;
  out["bpf_ns"] = nullable(self.bpf);
  out["rss_bytes"] = self.rss;
  out["map_bytes"] = self.map_bytes;
  out["events_lost"] = self.events_lost;
  out["lost"] = Json::object();
  for (const auto& [what, count] : self.lost) out["lost"][what] = count;
  return out;
}

}  // namespace

std::string_view name(PeerClass peer) {
  switch (peer) {
    case PeerClass::loopback: return "loopback";
    case PeerClass::unix_socket: return "unix";
    case PeerClass::remote: break;
  }
  return "remote";
}

std::string_view name(ProbeStatus::State state) {
  switch (state) {
    case ProbeStatus::State::ok: return "ok";
    case ProbeStatus::State::degraded: return "degraded";
    case ProbeStatus::State::unavailable: break;
  }
  return "unavailable";
}

std::string json_report(const Snapshot& snapshot, const std::vector<Finding>& findings) {
  Json report;
  report["schema"] = "jobscope.report/1";
  report["job"] = job_object(snapshot);
  report["threads"] = list(snapshot.threads, thread_object);
  report["processes"] = list(snapshot.processes, process_object);
  report["oom_kills"] = list(snapshot.oom_kills, oom_kill_object);
  report["block_io"] = list(snapshot.block_io, block_io_object);
  report["files"] = list(snapshot.files, file_object);
  report["network"] = list(snapshot.network, network_object);
  report["waits"] = list(snapshot.waits, wait_object);
  report["wakers"] = list(snapshot.wakers, waker_object);
  report["runqueue_us"] = histogram_us(snapshot.runqueue);
  report["cgroup"] = cgroup_object(snapshot.cgroup);
  report["tables"] = tables_object(snapshot.tables);
  report["probes"] = list(snapshot.probes, probe_object);
  report["findings"] = list(findings, finding_object);
  report["self"] = self_object(snapshot.self);
  // With `replace`, dump() has nothing left to throw but std::bad_alloc.
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace jobscope
