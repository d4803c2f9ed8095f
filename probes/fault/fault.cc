// Major page faults by the file whose page they waited for.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "fault.skel.h"
#include "src/bpf/prototype.h"
#include "src/bpf/skeleton.h"
#include "src/model/reason.h"
#include "src/session/probe.h"

namespace jobscope {
namespace {

constexpr size_t kTop = 10;

class FaultProbe : public Probe {
 public:
  Result<> start(SharedMaps& maps) override {
    if (!tracepoint_arguments("mm_filemap_fault")) {  // 6.12, b6273b55d885
      degraded_ = "this kernel does not tell which file a page fault is for";
      return {};
    }
    TRY(skeleton_.open());
    TRY(skeleton_.load(maps));
    return skeleton_.attach();
  }

  std::string degraded() const override { return degraded_; }

  Result<> collect(const Knowledge& knowledge, Snapshot& snapshot) override {
    std::map<std::string, wait_use> by_file;
    for (const auto& [key, use] : knowledge.named_waits) {
      if (key.reason != REASON_PAGE_FAULT) continue;
      const std::string path = knowledge.files.path(file_of(key));
      wait_use& sum = by_file[path.empty() ? "unknown" : path];
      sum.ns += use.ns;
      sum.count += use.count;
    }
    if (by_file.empty()) return {};
    std::vector<std::pair<std::string, wait_use>> files(by_file.begin(), by_file.end());
    std::stable_sort(files.begin(), files.end(),
                     [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
    Table table{"faults", "page faults that waited for a file", {"file", "faults", "wait ms"}, {}};
    for (const auto& [path, use] : files) {
      if (table.rows.size() == kTop) break;
      table.rows.push_back({path, std::to_string(use.count),
                            fmt::format("{:.1f}", static_cast<double>(use.ns) / 1e6)});
    }
    snapshot.tables.push_back(std::move(table));
    return {};
  }

  const bpf_object* object() const override { return skeleton_ ? skeleton_->obj : nullptr; }

 private:
  Skeleton<fault_bpf> skeleton_;
  std::string degraded_;
};

}  // namespace

extern const ProbeInfo fault_probe;
const ProbeInfo fault_probe{
    "fault", "page faults by the file they waited for",
    []() -> std::unique_ptr<Probe> { return std::make_unique<FaultProbe>(); }};

}  // namespace jobscope
