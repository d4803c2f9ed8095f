#include "src/session/session.h"

#include <bpf/libbpf.h>

#include <array>
#include <numeric>
#include <set>

#include "src/base/clock.h"
#include "src/bpf/log.h"
#include "src/bpf/map.h"
#include "src/bpf/skeleton.h"
#include "src/session/members.h"
#include "src/session/probe.h"
#include "src/session/self_cost.h"
#include "src/session/waits.h"

namespace jobscope {
namespace {

constexpr uint32_t kJob = 0;

struct FreeRing {
  void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
};

constexpr std::array kLossNames = {"thread records", "events", "threads",        "named waits",
                                   "wakers",         "files",  "block requests", "peers"};
static_assert(kLossNames.size() == LOSSES);

}  // namespace

struct Session::Impl {
  SharedMaps maps;
  std::unique_ptr<Members> members;
  std::vector<std::pair<const ProbeInfo*, std::unique_ptr<Probe>>> probes;
  std::vector<ProbeStatus> statuses;
  std::unique_ptr<ring_buffer, FreeRing> ring;
  Knowledge knowledge;
  WaitTable waits;
  InnerMap waits_map;
  size_t living = 0;
  uint32_t torn = 0;             // threads missing in the last look
  std::set<uint32_t> awaited;    // roots
  std::set<uint32_t> last_ends;  // those of them whose main thread has ended

  void start_probes();
  void take(const void* data, size_t size);
  void name_process(const thread& t);
  void meet(const thread& t);
  void walk();
  globals read_globals() const;
  SelfCost self() const;
};

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::open() {
  auto impl = std::make_unique<Impl>();
  const BpfLog log;  // what libbpf has to say is told by the errors
  const int cpus = libbpf_num_possible_cpus();
  if (cpus < 1) return fail_errno("counting the CPUs", -cpus, "is /sys mounted here?");
  impl->knowledge.cpus = static_cast<uint32_t>(cpus);
  impl->members = TRY(Members::open(impl->maps, impl->knowledge.cpus));
  impl->waits_map =
      InnerMap(impl->maps.fd("waits_now"), impl->maps.fd("waits"), impl->maps.types("waits"));
  impl->ring.reset(ring_buffer__new(
      impl->maps.fd("events"),
      [](void* self, void* data, size_t size) {
        static_cast<Impl*>(self)->take(data, size);
        return 0;
      },
      impl.get(), nullptr));
  if (!impl->ring) return fail_errno("opening the ring of events");
  impl->start_probes();
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

void Session::Impl::start_probes() {
  for (const ProbeInfo* info : probe_table()) {
    std::unique_ptr<Probe> probe = info->make();
    if (const Result<> started = probe->start(maps); !started) {
      const Error& error = started.error();
      const std::string reason = error.hint.empty() ? error.what : error.what + "; " + error.hint;
      statuses.push_back({info->name, ProbeStatus::State::unavailable, reason});
      continue;
    }
    const std::string reason = probe->degraded();
    statuses.push_back({info->name,
                        reason.empty() ? ProbeStatus::State::ok : ProbeStatus::State::degraded,
                        reason});
    probes.emplace_back(info, std::move(probe));
  }
}

// One record of the ring.
void Session::Impl::take(const void* data, size_t size) {
  const auto& record = *static_cast<const event*>(data);
  if (size < sizeof(event) || record.size > size) return;
  switch (record.type) {
    case EVENT_THREAD_END: {
      const ThreadRecord ended = thread_record(data, knowledge.cpus, true);
      name_process(ended.head);
      if (ended.head.pid == ended.head.tid) {
        knowledge.processes.child(ended.head.ppid, ended.head.name,
                                  ended.head.since - ended.head.start);
        if (awaited.contains(ended.head.pid)) last_ends.insert(ended.head.pid);
      }
      waits.add_ended(ended.head);
      for (auto& [info, probe] : probes) probe->on_thread(ended);
      return;
    }
    case EVENT_FILE_NAME: {
      const auto& head = *static_cast<const file_name_head*>(data);
      knowledge.files.add(head, {static_cast<const char*>(data) + sizeof(head), head.length});
      return;
    }
    case EVENT_EXEC: {
      const auto& exec = *static_cast<const exec_event*>(data);
      knowledge.processes.seen({exec.pid, exec.process}, exec.name);
      knowledge.processes.exec({exec.pid, exec.process}, monotonic_now());
      break;
    }
    case EVENT_PROCESS_END: {
      const auto& end = *static_cast<const process_event*>(data);
      knowledge.processes.ended({end.pid, end.process});
      break;
    }
    default: break;
  }
  for (auto& [info, probe] : probes) probe->on_event(record);
}

void Session::Impl::name_process(const thread& t) {
  if (t.pid == t.tid) knowledge.processes.seen({t.pid, t.process}, t.name);
}

// A living thread. Its process may have come without an exec: by a fork, or before the watch.
void Session::Impl::meet(const thread& t) {
  if (t.pid == t.tid && !knowledge.processes.knows({t.pid, t.process}))
    knowledge.processes.exec({t.pid, t.process}, monotonic_now());
  name_process(t);
}

void Session::Impl::walk() {
  waits.begin_look();
  for (auto& [info, probe] : probes) probe->begin_look();
  living = 0;
  const Result<Members::Walk> walked = members->walk([this](const ThreadRecord& record) {
    ++living;
    meet(record.head);
    waits.add_living(record.head);
    for (auto& [info, probe] : probes) probe->on_thread(record);
  });
  torn = walked ? walked->torn : 0;
}

Result<> Session::adopt(std::span<const uint32_t> pids) {
  TRY(impl_->members->adopt(pids, kJob));
  impl_->awaited.insert(pids.begin(), pids.end());
  for (;;) {
    const Members::Walk walked =
        TRY(impl_->members->walk([this](const ThreadRecord& record) { impl_->meet(record.head); }));
    if (walked.adopted == 0) break;
  }
  impl_->members->adopted_all();
  return {};
}

Result<> Session::adopt_at_exec(uint32_t pid) {
  impl_->awaited.insert(pid);
  return impl_->members->adopt_at_exec(pid, kJob);
}

uint64_t Session::due() const { return impl_->knowledge.processes.due(); }

int Session::events_fd() const { return ring_buffer__epoll_fd(impl_->ring.get()); }

void Session::drain() {
  ring_buffer__consume(impl_->ring.get());
  const uint64_t now = monotonic_now();
  const uint64_t due = impl_->knowledge.processes.due();
  if (due && due <= now) impl_->knowledge.processes.look(now, impl_->maps.fd("process_hints"));
  const globals g = impl_->read_globals();
  impl_->waits.make_room(impl_->waits_map, g.wait_entries);
  for (auto& [info, probe] : impl_->probes) probe->on_drain(g);
}

SnapshotPtr Session::look(const JobRun& job) {
  // First the living, then the ring: a thread that ends in between is told twice, never not at all.
  impl_->walk();
  drain();
  impl_->waits.look(impl_->waits_map);
  impl_->knowledge.named_waits = impl_->waits.all();
  impl_->knowledge.clock_offset = impl_->members->clock_offset();
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->job = job;
  snapshot->probes = impl_->statuses;
  for (auto& [info, probe] : impl_->probes) {
    const Result<> collected = probe->collect(impl_->knowledge, *snapshot);
    if (collected) continue;
    for (ProbeStatus& status : snapshot->probes)
      if (status.name == info->name)
        status = {status.name, ProbeStatus::State::degraded, collected.error().what};
  }
  snapshot->self = impl_->self();
  return snapshot;
}

globals Session::Impl::read_globals() const { return first<globals>(maps.fd("session_globals")); }

int64_t Session::unfinished() const { return impl_->read_globals().threads; }

SnapshotPtr Session::glance(const JobRun& job) {
  impl_->walk();
  drain();
  impl_->knowledge.clock_offset = impl_->members->clock_offset();
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->job = job;
  for (auto& [info, probe] : impl_->probes) probe->glance(impl_->knowledge, *snapshot);
  return snapshot;
}

void Session::refresh() { impl_->walk(); }

SelfCost Session::Impl::self() const {
  SelfCost own;
  measure_process(own);
  own.bpf = bpf_run_time(maps, knowledge.cpus);
  own.map_bytes = maps.bytes();
  std::map<std::string, uint64_t> missed;
  const auto add = [&](const bpf_object* object) {
    if (!object) return;
    own.map_bytes += private_map_bytes(object, maps);
    add_missed_runs(object, missed);
  };
  add(members->object());
  for (const auto& [info, probe] : probes) add(probe->object());
  for (const char* twice : {"on_root_exec", "on_root_exec_again"}) missed.erase(twice);
  const globals g = read_globals();
  const std::pair<const char*, uint64_t> made_up[] = {{"on_fork", g.made_up[MADE_UP_FORK]},
                                                      {"on_exec", g.made_up[MADE_UP_EXEC]},
                                                      {"on_exit", g.made_up[MADE_UP_EXIT]}};
  for (const auto& [program, runs] : made_up)
    if (const auto found = missed.find(program); found != missed.end())
      found->second -= std::min(found->second, runs);
  for (const auto& [program, runs] : missed) {
    if (!runs) continue;
    own.lost["at most, runs of the BPF program " + program] = runs;
    own.events_lost += runs;
  }
  if (torn) own.lost["copies of threads"] = torn;
  own.events_lost += torn;
  own.map_bytes += waits_map.spare_bytes();
  for (uint32_t i = 0; i < LOSSES; ++i) {
    const auto values = per_cpu<uint64_t>(maps.fd("losses"), i, knowledge.cpus);
    const uint64_t lost = std::accumulate(values.begin(), values.end(), uint64_t{0});
    if (lost) own.lost[kLossNames[i]] = lost;
    own.events_lost += lost;
  }
  return own;
}

bool Session::told_end_of(uint32_t pid) const { return impl_->last_ends.contains(pid); }

size_t Session::living() const { return impl_->living; }

const std::vector<ProbeStatus>& Session::probes() const { return impl_->statuses; }

}  // namespace jobscope
