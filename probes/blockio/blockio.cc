// Block I/O of the job: latency per device and operation, from the start of a request to its end.
// Requests that were under way when the watch began, or still are, are not counted.
#include "probes/blockio/blockio.h"

#include <unistd.h>

#include <memory>

#include "blockio.skel.h"
#include "probes/blockio/block_table.h"
#include "probes/blockio/hooks.h"
#include "src/base/fd.h"
#include "src/bpf/kernel_btf.h"
#include "src/bpf/map.h"
#include "src/bpf/prototype.h"
#include "src/bpf/skeleton.h"
#include "src/session/probe.h"

namespace jobscope {
namespace {

static_assert(sizeof(block_use) % 8 == 0);  // the kernel lays the copies of CPUs out in steps of 8

class BlockioProbe : public Probe {
 public:
  Result<> start(SharedMaps& maps) override {
    const BlockHooks hooks = find_block_hooks(tracepoint_arguments);
    if (!(hooks.start || hooks.getrq) || !hooks.complete)
      return fail("the kernel has no tracepoints of block requests");
    TRY(skeleton_.open());
    choose(hooks);
    TRY(skeleton_.load(maps));
    const auto& p = skeleton_->progs;
    attach_settle();
    // The end before the beginning: what has no end known would stay open.
    links_.push_back(TRY(jobscope::attach(p.on_complete)));
    optional(hooks.merge_of_queue ? p.on_merge_of_queue : p.on_merge, hooks.merge,
             "requests merged into others may count twice");
    optional(hooks.issue_of_queue ? p.on_issue_of_queue : p.on_issue, hooks.issue,
             "time before the device is not told from time in it");
    if (hooks.start)
      links_.push_back(TRY(jobscope::attach(p.on_start)));
    else
      links_.push_back(
          TRY(jobscope::attach(hooks.getrq_of_queue ? p.on_getrq_of_queue : p.on_getrq)));
    return {};
  }

  std::string degraded() const override { return degraded_; }

  Result<> collect(const Knowledge& knowledge, Snapshot& snapshot) override {
    settle();
    const int map = bpf_map__fd(skeleton_->maps.block_uses);
    BlockTable table;
    std::vector<block_use> copies(knowledge.cpus);
    block_key key{};
    const void* from = nullptr;
    while (bpf_map_get_next_key(map, from, &key) == 0) {
      from = &key;
      if (bpf_map_lookup_elem(map, &key, copies.data()) != 0) continue;
      table.add(key, copies, FileNames::device_name(key.device));
    }
    for (BlockIo& row : table.rows()) snapshot.block_io.push_back(std::move(row));
    return {};
  }

  const bpf_object* object() const override { return skeleton_->obj; }

 private:
  // Leaves in only the programs that fit the kernel.
  void choose(const BlockHooks& hooks) {
    const auto& p = skeleton_->progs;
    const bool by_bio = !hooks.start;
    bpf_program__set_autoload(p.on_start, hooks.start);
    bpf_program__set_autoload(p.on_getrq, by_bio && !hooks.getrq_of_queue);
    bpf_program__set_autoload(p.on_getrq_of_queue, by_bio && hooks.getrq_of_queue);
    bpf_program__set_autoload(p.on_issue, hooks.issue && !hooks.issue_of_queue);
    bpf_program__set_autoload(p.on_issue_of_queue, hooks.issue && hooks.issue_of_queue);
    bpf_program__set_autoload(p.on_merge, hooks.merge && !hooks.merge_of_queue);
    bpf_program__set_autoload(p.on_merge_of_queue, hooks.merge && hooks.merge_of_queue);
    skeleton_->rodata->by_bio = by_bio;
    skeleton_->rodata->flush_sequence = flush_sequence_flag(kernel_btf());
  }

  // Without it, the last requests whose end was not told are missing.
  void attach_settle() {
    BpfLog log;
    bpf_iter_link_info which{};
    which.map.map_fd = static_cast<uint32_t>(bpf_map__fd(skeleton_->maps.open_requests));
    LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &which, .link_info_len = sizeof(which));
    settle_.reset(bpf_program__attach_iter(skeleton_->progs.settle, &options));
  }

  void settle() const {
    if (!settle_) return;
    const Fd walk(bpf_iter_create(bpf_link__fd(settle_.get())));
    char nothing = 0;
    while (walk && ::read(walk.get(), &nothing, 1) < 0 && (errno == EAGAIN || errno == EINTR)) {
    }
    const int map = bpf_map__fd(skeleton_->maps.open_requests);
    std::vector<uint64_t> settled;
    for_each<uint64_t, open_request>(map, [&](uint64_t id, const open_request& r) {
      if (r.settled) settled.push_back(id);
    });
    for (const uint64_t id : settled) bpf_map_delete_elem(map, &id);
  }

  void optional(bpf_program* program, bool exists, const std::string& lack) {
    Result<Link> link = exists ? jobscope::attach(program) : fail("no such tracepoint");
    if (link) {
      links_.push_back(std::move(*link));
      return;
    }
    if (!degraded_.empty()) degraded_ += "; ";
    degraded_ += lack + " (" + link.error().what + ")";
  }

  Skeleton<blockio_bpf> skeleton_;
  std::vector<Link> links_;
  Link settle_;
  std::string degraded_;
};

}  // namespace

extern const ProbeInfo blockio_probe;
const ProbeInfo blockio_probe{
    "blockio", "latency of block I/O per device and operation",
    []() -> std::unique_ptr<Probe> { return std::make_unique<BlockioProbe>(); }};

}  // namespace jobscope
