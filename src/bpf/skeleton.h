// Owners of libbpf's objects.
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <memory>

#include "src/base/result.h"
#include "src/bpf/kernel.h"
#include "src/bpf/kernel_btf.h"
#include "src/bpf/log.h"
#include "src/bpf/shared_maps.h"

namespace jobscope {

// One object made by `bpftool gen skeleton`: open (which sets what the kernel has), set knobs,
// load, attach; destroyed at the end.
template <class S>
class Skeleton {
 public:
  Result<> open() {
    BpfLog log;
    skeleton_.reset(S::open(nullptr));
    if (!skeleton_) return log.failure("opening a BPF object", errno);
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, skeleton_->obj) {
      if (is_masked(bpf_program__name(program))) bpf_program__set_autoload(program, false);
    }
    if constexpr (requires { skeleton_->rodata->has_task_storage; }) {  // of bpf/session.bpf.h
      skeleton_->rodata->nr_cpus = static_cast<uint32_t>(libbpf_num_possible_cpus());
      skeleton_->rodata->has_task_storage = has_task_storage();
      skeleton_->rodata->has_task_pt_regs = has_task_pt_regs();
      skeleton_->rodata->has_sched_info = has_sched_info();
    }
    return {};
  }
  // With the maps that it shares with others. On failure the error says why in the kernel's or
  // libbpf's words.
  Result<> load(SharedMaps& maps) {
    TRY(maps.give(skeleton_->obj));
    BpfLog log;
    if (const int error = S::load(skeleton_.get()))
      return log.failure("loading BPF programs", -error);
    return maps.keep(skeleton_->obj);
  }
  Result<> attach() {
    BpfLog log;
    if (const int error = S::attach(skeleton_.get()))
      return log.failure("attaching BPF programs", -error);
    return {};
  }
  S* operator->() const { return skeleton_.get(); }
  explicit operator bool() const { return skeleton_ != nullptr; }

 private:
  struct Destroy {
    void operator()(S* skeleton) const { S::destroy(skeleton); }
  };
  std::unique_ptr<S, Destroy> skeleton_;
};

struct DestroyLink {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
using Link = std::unique_ptr<bpf_link, DestroyLink>;

// Attaches one program by its section.
inline Result<Link> attach(bpf_program* program) {
  if (is_masked(bpf_program__name(program))) return Link();
  BpfLog log;
  bpf_link* link = bpf_program__attach(program);
  if (!link) return log.failure(std::string("attaching ") + bpf_program__name(program), errno);
  return Link(link);
}

}  // namespace jobscope
