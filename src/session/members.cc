#include "src/session/members.h"

#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "members.skel.h"
#include "src/bpf/kernel.h"
#include "src/bpf/map.h"
#include "src/bpf/skeleton.h"

namespace jobscope {
namespace {

constexpr int kTries = 4;

struct FreeBtf {
  void operator()(btf* b) const { btf__free(b); }
};

tl::unexpected<Error> no_map(const std::string& what) {
  return fail_errno("creating the map of " + what, errno, memlock_hint(errno));
}

// The map `threads`. Its values end in one counter per CPU, so their size is known only here; task
// storage must be described in BTF, so we describe it as an array of bytes.
Result<Fd> create_threads(uint32_t cpus) {
  const auto size = static_cast<uint32_t>(thread_record_size(cpus));
  if (!has_task_storage()) {
    Fd map(
        bpf_map_create(BPF_MAP_TYPE_HASH, "threads", sizeof(uint32_t), size, kMostTasks, nullptr));
    if (!map) return no_map("threads");
    return map;
  }
  const std::unique_ptr<btf, FreeBtf> types(btf__new_empty());
  if (!types) return fail_errno("describing the map of threads");
  const int key = btf__add_int(types.get(), "int", 4, BTF_INT_SIGNED);
  const int byte = btf__add_int(types.get(), "unsigned char", 1, 0);
  const int value = btf__add_array(types.get(), key, byte, size);
  if (key < 0 || byte < 0 || value < 0) return fail_errno("describing the map of threads", EINVAL);
  if (const int error = btf__load_into_kernel(types.get()))
    return fail_errno("describing the map of threads to the kernel", -error);
  LIBBPF_OPTS(bpf_map_create_opts, options, .btf_fd = static_cast<uint32_t>(btf__fd(types.get())),
              .btf_key_type_id = static_cast<uint32_t>(key),
              .btf_value_type_id = static_cast<uint32_t>(value), .map_flags = BPF_F_NO_PREALLOC);
  Fd map(bpf_map_create(BPF_MAP_TYPE_TASK_STORAGE, "threads", sizeof(int), size, 0, &options));
  if (!map) return no_map("threads");
  return map;
}

Result<Fd> create_blank(uint32_t cpus) {
  Fd map(bpf_map_create(BPF_MAP_TYPE_ARRAY, "blank", sizeof(uint32_t),
                        static_cast<uint32_t>(thread_record_size(cpus)), 1, nullptr));
  if (!map) return no_map("a blank thread");
  return map;
}

}  // namespace

struct Members::Impl {
  Skeleton<members_bpf> skeleton;
  Link fork, exec, exec_again, walk;
  int globals = -1;
  uint32_t cpus = 1;

  Result<std::vector<char>> read_threads() const;
};

Members::Members(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Members::~Members() = default;

Result<std::unique_ptr<Members>> Members::open(SharedMaps& maps, uint32_t cpus) {
  maps.own("threads", TRY(create_threads(cpus)));
  maps.own("blank", TRY(create_blank(cpus)));
  auto impl = std::make_unique<Impl>();
  auto& skeleton = impl->skeleton;
  TRY(skeleton.open());
  TRY(skeleton.load(maps));
  impl->cpus = cpus;
  impl->globals = maps.fd("session_globals");

  {  // the clocks, before anything is watched
    const Link any = TRY(attach(skeleton->progs.on_any_switch));
    for (int i = 0; i < 5; ++i) ::usleep(500);
  }
  impl->fork = TRY(attach(skeleton->progs.on_fork));
  impl->exec = TRY(attach(skeleton->progs.on_root_exec));
  impl->exec_again = TRY(attach(skeleton->progs.on_root_exec_again));
  impl->walk = TRY(attach(skeleton->progs.walk));
  return std::unique_ptr<Members>(new Members(std::move(impl)));
}

Result<> Members::adopt(std::span<const uint32_t> pids, uint32_t job) {
  const int map = bpf_map__fd(impl_->skeleton->maps.adoptions);
  for (const uint32_t pid : pids)
    if (bpf_map_update_elem(map, &pid, &job, BPF_ANY) != 0)
      return fail_errno("adopting process " + std::to_string(pid));
  return {};
}

void Members::adopted_all() { clear<uint32_t>(bpf_map__fd(impl_->skeleton->maps.adoptions)); }

Result<> Members::adopt_at_exec(uint32_t pid, uint32_t job) {
  if (bpf_map_update_elem(bpf_map__fd(impl_->skeleton->maps.roots), &pid, &job, BPF_ANY) != 0)
    return fail_errno("adopting process " + std::to_string(pid));
  return {};
}

Result<std::vector<char>> Members::Impl::read_threads() const {
  const Fd iterator(bpf_iter_create(bpf_link__fd(walk.get())));
  if (!iterator) return fail_errno("walking the threads");
  std::vector<char> bytes;
  size_t filled = 0;
  for (;;) {
    bytes.resize(std::max<size_t>(filled + 65536, bytes.size()));
    const ssize_t n = ::read(iterator.get(), bytes.data() + filled, bytes.size() - filled);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n < 0) return fail_errno("walking the threads");
    if (n == 0) break;
    filled += static_cast<size_t>(n);
  }
  bytes.resize(filled);
  return bytes;
}

// A copy may be torn by an update: then that thread is looked for in another read.
Result<Members::Walk> Members::walk(const std::function<void(const ThreadRecord&)>& f) {
  impl_->skeleton->bss->adopted = 0;
  const size_t size = thread_record_size(impl_->cpus);
  std::set<std::pair<uint32_t, uint64_t>> told;  // tid and start
  Walk result;
  for (int tries = 0; tries < kTries && (tries == 0 || result.torn); ++tries) {
    const std::vector<char> bytes = TRY(impl_->read_threads());
    result.torn = 0;
    for (size_t at = 0; at + size <= bytes.size(); at += size) {
      const ThreadRecord record = thread_record(bytes.data() + at, impl_->cpus, false);
      const std::pair<uint32_t, uint64_t> id{record.head.tid, record.head.start};
      if (told.contains(id)) continue;
      if (!consistent(record.head)) {
        ++result.torn;
        continue;
      }
      told.insert(id);
      f(record);
    }
  }
  result.adopted = impl_->skeleton->bss->adopted;
  return result;
}

const bpf_object* Members::object() const { return impl_->skeleton->obj; }

uint64_t Members::clock_offset() const { return first<globals>(impl_->globals).clock_offset; }

ThreadRecord thread_record(const void* bytes, uint32_t cpus, bool ended) {
  const auto* head = static_cast<const thread*>(bytes);
  return {*head, {reinterpret_cast<const uint64_t*>(head + 1), cpus}, ended};
}

size_t thread_record_size(uint32_t cpus) { return sizeof(thread) + cpus * sizeof(uint64_t); }

bool consistent(const thread& t) {
  return std::accumulate(std::begin(t.parts), std::end(t.parts), t.start) == t.since;
}

}  // namespace jobscope
