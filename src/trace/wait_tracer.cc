// trace wait: threads that waited longer than a bound, for what, and where.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>
#include <fstream>
#include <unordered_map>

#include "src/base/paths.h"
#include "src/base/syscalls.h"
#include "src/model/reason.h"
#include "src/trace/figures.h"
#include "src/trace/stack_names.h"
#include "src/trace/tracer_of.h"
#include "wait_trace.skel.h"

namespace jobscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostPaths = 65536;
constexpr size_t kUserFrames = 3;  // shown

std::string comm_of(uint64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

std::string peer_text(const wait_key& wait) {
  std::array<unsigned char, 16> address{};
  std::memcpy(address.data(), wait.id, sizeof(wait.id));
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, address.data(), text.data(), text.size());
  std::string plain = text.data();
  if (plain.starts_with("::ffff:") && plain.find('.') != std::string::npos)
    return fmt::format("{}:{}", plain.substr(7), wait.detail);
  return plain == "::" && !wait.detail ? "" : fmt::format("[{}]:{}", plain, wait.detail);
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_openmp(const std::string& file) {
  return file.starts_with("libgomp") || file.starts_with("libomp") || file.starts_with("libiomp5");
}

class WaitTracer : public TracerOf<wait_trace_bpf> {
 public:
  WaitTracer(const TraceOptions& options, JobFinder& finder, uint64_t over)
      : TracerOf(options, finder, true), over_(over), symbols_(KernelSymbols::read()) {}

  std::vector<EventColumn> columns() const override {
    return {{"WAITED", 8, true, 0}, {"REASON", 11, false, 0},  {"PID", 7, true, 3},
            {"TID", 7, true, 4},    {"COMMAND", 15, false, 0}, {"JOB", 10, false, 5},
            {"FOR", 24, false, 0},  {"WHERE", 40, false, 6}};
  }

 protected:
  Result<> prepare() override {
    skeleton()->rodata->over_ns = over_;
    read_accelerators();
    return {};
  }
  Result<> attach() override { return attach_program(skeleton()->progs.on_switch); }

  void decode(uint32_t type, const void* data, size_t size) override {
    if (type == EVENT_FILE_NAME) {
      take_name(data, size);
      return;
    }
    const auto r = record_as<wait_record>(data, size);
    if (type != TRACE_WAIT || !r || r->wait.reason >= kReasons) return;
    if (!followed().wants(r->head.pid, r->head.verdict)) return;
    const Reason reason = reason_of(*r);
    const std::string object = object_of(*r, reason);
    const size_t frames = std::min<size_t>(r->kernel_frames, KERNEL_FRAMES);
    const std::vector<uint64_t> kernel_stack(r->kernel, r->kernel + frames);
    const std::string kernel = kernel_line(symbols_, kernel_stack);
    const std::vector<std::string> user = user_frames(*r);
    const std::string job = followed().job_of(r->head.pid);

    EventLine line;
    line.at = r->head.at;
    Json& f = line.fields = begin_fields("wait", r->head);
    f["job"] = job.empty() ? Json(nullptr) : Json(job);
    f["ns"] = r->ns;
    f["reason"] = name(reason);
    f["for"] = object.empty() ? Json(nullptr) : Json(object);
    f["kernel_stack"] = kernel_frames(*r);
    f["user_stack"] = user;
    std::string where = kernel;
    const size_t shown = std::min(user.size(), kUserFrames);
    if (shown)
      where += (where.empty() ? "" : " | ") +
               fmt::format("{}", fmt::join(user.begin(), user.begin() + shown, " < "));
    line.cells = {time_figure(r->ns),
                  std::string(name(reason)),
                  std::to_string(r->head.pid),
                  std::to_string(r->head.tid),
                  text_of(r->head.comm),
                  job,
                  object,
                  where};
    emit(std::move(line));
  }

 private:
  // Major numbers of accelerator drivers, by their names in /proc/devices.
  void read_accelerators() {
    std::ifstream devices("/proc/devices");
    bool block = false;
    for (std::string line; std::getline(devices, line);) {
      unsigned major = 0;
      std::array<char, 65> name{};
      block = block || line.starts_with("Block");
      if (block || std::sscanf(line.c_str(), "%u %64s", &major, name.data()) != 2) continue;
      const std::string_view driver = name.data();
      if (major < 512 && (driver.starts_with("nvidia") || driver.starts_with("davinci") ||
                          driver.starts_with("devdrv") || driver.starts_with("hisi_hdc") ||
                          driver == "kfd" || driver == "drm" || driver == "accel" ||
                          driver.starts_with("habana") || driver == "mlu" || driver == "ipu"))
        const_cast<unsigned long long&>(skeleton()->rodata->accelerator_majors[major / 64]) |=
            1ull << (major % 64);
    }
  }

  void take_name(const void* data, size_t size) {
    const auto head = record_as<file_name_head>(data, size);
    if (!head || size < sizeof(*head) + head->length) return;
    if (paths_.size() > kMostPaths) paths_.clear();
    const std::string path =
        join_reversed({static_cast<const char*>(data) + sizeof(*head), head->length});
    paths_[{head->key.inode, head->key.device | uint64_t{head->key.generation} << 32}] =
        head->partial ? "…" + path : path;
  }

  // The kernel side does not know where a process has its GIL and its OpenMP runtime.
  Reason reason_of(const wait_record& r) {
    const auto reason = static_cast<Reason>(r.wait.reason);
    if (reason != Reason::futex) return reason;
    const auto code = maps_.at(r.head.pid, r.ip);
    if (code && is_openmp(last_part(code->path))) return Reason::barrier;
    return maps_.is_python_runtime(r.head.pid, r.wait.id[0]) ? Reason::gil : reason;
  }

  std::string file_text(const wait_key& wait) const {
    if (!wait.id[0]) return {};
    const auto found = paths_.find({wait.id[0], wait.id[1]});
    return found != paths_.end() ? found->second : fmt::format("inode {}", wait.id[0]);
  }

  std::string object_of(const wait_record& r, Reason reason) {
    const wait_key& wait = r.wait;
    switch (reason) {
      case Reason::disk_read:
      case Reason::disk_write:
      case Reason::fsync:
      case Reason::page_fault:
      case Reason::file_other:
      case Reason::remote_fs: return file_text(wait);
      case Reason::net_recv:
      case Reason::net_send:
      case Reason::net_connect: return peer_text(wait);
      case Reason::pipe: return fmt::format("pipe:[{}]", wait.id[0]);
      case Reason::unix_socket:
        return wait.id[0] ? fmt::format("{} (pid {})", comm_of(wait.id[0]), wait.id[0]) : "";
      case Reason::futex:
      case Reason::barrier: {
        const auto place = maps_.at(r.head.pid, wait.id[0]);
        const std::string owner = place ? last_part(place->path) : "";
        return owner.empty() ? fmt::format("{:#x}", wait.id[0])
                             : fmt::format("{:#x} in {}", wait.id[0], owner);
      }
      case Reason::accelerator:
        return fmt::format("device {}:{}", wait.id[0] >> 20, wait.id[0] & 0xFFFFF);
      case Reason::other: return wait.detail ? syscall_name(wait.detail) : "";
      default: return {};
    }
  }

  Json kernel_frames(const wait_record& r) const {
    Json frames = Json::array();
    for (uint32_t i = 0; i < std::min<uint32_t>(r.kernel_frames, KERNEL_FRAMES); ++i) {
      const std::string name = symbols_.name(r.kernel[i]);
      frames.push_back(name.empty() ? fmt::format("{:#x}", r.kernel[i]) : name);
    }
    return frames;
  }

  // The first is where the kernel was entered; the others as far as frame pointers lead.
  std::vector<std::string> user_frames(const wait_record& r) {
    std::vector<std::string> frames;
    for (uint32_t i = 0; i < std::min<uint32_t>(r.user_frames, USER_FRAMES); ++i) {
      const auto place = maps_.at(r.head.pid, r.user[i]);
      if (i && (!place || !place->path.starts_with('/'))) break;  // it was no frame pointer
      frames.push_back(maps_.frame(r.head.pid, r.user[i]));
    }
    return frames;
  }

  struct Hash {
    size_t operator()(const std::pair<uint64_t, uint64_t>& file) const {
      return (file.first ^ file.second) * 0x9E3779B97F4A7C15ull;
    }
  };

  uint64_t over_;
  KernelSymbols symbols_;
  ProcessMaps maps_;
  std::unordered_map<std::pair<uint64_t, uint64_t>, std::string, Hash> paths_;  // by inode, device
};

}  // namespace

std::unique_ptr<Tracer> wait_tracer(const TraceOptions& options, JobFinder& finder, uint64_t over) {
  return std::make_unique<WaitTracer>(options, finder, over);
}

}  // namespace jobscope
