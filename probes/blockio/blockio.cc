// Block I/O of the job: latency per device and operation, from the start of a request to its end.
// Requests that were under way when the watch began, or still are, are not counted.
#include "probes/blockio/blockio.h"

#include <memory>

#include "blockio.skel.h"
#include "probes/blockio/block_table.h"
#include "src/bpf/block_programs.h"
#include "src/bpf/skeleton.h"
#include "src/session/probe.h"

namespace jobscope {
namespace {

static_assert(sizeof(block_use) % 8 == 0);  // the kernel lays the copies of CPUs out in steps of 8

class BlockioProbe : public Probe {
 public:
  Result<> start(SharedMaps& maps) override {
    TRY(skeleton_.open());
    TRY(programs_.choose(skeleton_));
    TRY(skeleton_.load(maps));
    return programs_.attach(skeleton_);
  }

  std::string degraded() const override { return programs_.degraded(); }

  Result<> collect(const Knowledge& knowledge, Snapshot& snapshot) override {
    programs_.settle();
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
  Skeleton<blockio_bpf> skeleton_;
  BlockPrograms programs_;
};

}  // namespace

extern const ProbeInfo blockio_probe;
const ProbeInfo blockio_probe{
    "blockio", "latency of block I/O per device and operation",
    []() -> std::unique_ptr<Probe> { return std::make_unique<BlockioProbe>(); }};

}  // namespace jobscope
