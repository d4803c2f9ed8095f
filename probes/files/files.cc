// Which files the job waited for, and how much they moved from and to their devices.
#include <algorithm>
#include <map>

#include "files.skel.h"
#include "src/bpf/map.h"
#include "src/bpf/prototype.h"
#include "src/bpf/skeleton.h"
#include "src/model/reason.h"
#include "src/session/probe.h"

namespace jobscope {
namespace {

constexpr size_t kTop = 200;

bool is_file_wait(uint8_t reason) {
  switch (static_cast<Reason>(reason)) {
    case Reason::disk_read:
    case Reason::disk_write:
    case Reason::fsync:
    case Reason::page_fault:
    case Reason::file_other:
    case Reason::remote_fs: return true;
    default: return false;
  }
}

// "/data/train/7.png" → "/data/train/*".
std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "*" : path.substr(0, slash) + "/*";
}

void add(FileUse& to, const FileUse& from) {
  to.wait += from.wait;
  to.waits += from.waits;
  to.faults += from.faults;
  if (from.bytes_read) to.bytes_read = to.bytes_read.value_or(0) + *from.bytes_read;
  if (from.bytes_written) to.bytes_written = to.bytes_written.value_or(0) + *from.bytes_written;
}

class FilesProbe : public Probe {
 public:
  Result<> start(SharedMaps& maps) override {
    TRY(skeleton_.open());
    const auto arguments = tracepoint_arguments("block_bio_queue");
    if (!arguments) return fail("the kernel has no tracepoint block_bio_queue");
    const bool of_queue = arguments->size() > 1;
    bpf_program__set_autoload(skeleton_->progs.on_bio, !of_queue);
    bpf_program__set_autoload(skeleton_->progs.on_bio_of_queue, of_queue);
    TRY(skeleton_.load(maps));
    files_ = maps.fd("files");
    return skeleton_.attach();
  }

  Result<> collect(const Knowledge& knowledge, Snapshot& snapshot) override {
    std::map<FileId, FileUse> files;
    for (const auto& [key, use] : knowledge.named_waits) {
      if (!is_file_wait(key.reason)) continue;
      FileUse& file = files[file_of(key)];
      file.wait += use.ns;
      file.waits += use.count;
      if (key.reason == REASON_PAGE_FAULT) file.faults += use.count;
    }
    for_each<file_key, file_use>(files_, [&](const file_key& key, const file_use& use) {
      FileUse& file = files[file_of(key)];
      file.bytes_read = use.bytes_read;
      file.bytes_written = use.bytes_written;
    });
    std::vector<FileUse> rows;
    for (auto& [id, file] : files) {
      const bool idle =
          file.wait == 0 && file.bytes_read.value_or(0) == 0 && file.bytes_written.value_or(0) == 0;
      if (idle) continue;
      file.path = knowledge.files.path(id);
      rows.push_back(std::move(file));
    }
    std::stable_sort(rows.begin(), rows.end(), [](const FileUse& a, const FileUse& b) {
      return a.wait != b.wait ? a.wait > b.wait : a.path < b.path;
    });
    fold(rows);
    snapshot.files = std::move(rows);
    return {};
  }

  const bpf_object* object() const override { return skeleton_->obj; }

 private:
  // Beyond the first kTop: sums by directory.
  static void fold(std::vector<FileUse>& rows) {
    if (rows.size() <= kTop) return;
    std::map<std::string, FileUse> directories;
    for (size_t i = kTop; i < rows.size(); ++i) {
      const std::string directory = directory_of(rows[i].path);
      auto [found, is_new] = directories.try_emplace(directory, rows[i]);
      if (is_new) {
        found->second.path = directory;
        continue;
      }
      found->second.files += 1;
      add(found->second, rows[i]);
    }
    rows.resize(kTop);
    for (auto& [path, file] : directories) rows.push_back(std::move(file));
    std::stable_sort(rows.begin(), rows.end(),
                     [](const FileUse& a, const FileUse& b) { return a.wait > b.wait; });
  }

  Skeleton<files_bpf> skeleton_;
  int files_ = -1;
};

}  // namespace

extern const ProbeInfo files_probe;
const ProbeInfo files_probe{
    "files", "which files the job waited for, and their bytes",
    []() -> std::unique_ptr<Probe> { return std::make_unique<FilesProbe>(); }};

}  // namespace jobscope
