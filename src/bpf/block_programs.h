// The programs of bpf/requests.bpf.h, in any object that includes it: those that fit the running
// kernel are chosen before the load and attached after it.
#pragma once

#include <unistd.h>

#include <string>
#include <vector>

#include "src/base/fd.h"
#include "src/bpf/block_hooks.h"
#include "src/bpf/kernel_btf.h"
#include "src/bpf/prototype.h"
#include "src/bpf/skeleton.h"

namespace jobscope {

class BlockPrograms {
 public:
  // Between the object's open and load. Fails if the kernel has no tracepoints of block requests.
  template <class S>
  Result<> choose(Skeleton<S>& skeleton) {
    hooks_ = find_block_hooks(tracepoint_arguments);
    if (!(hooks_.start || hooks_.getrq) || !hooks_.complete)
      return fail("the kernel has no tracepoints of block requests");
    const auto& p = skeleton->progs;
    const bool by_bio = !hooks_.start;
    bpf_program__set_autoload(p.on_start, hooks_.start);
    bpf_program__set_autoload(p.on_getrq, by_bio && !hooks_.getrq_of_queue);
    bpf_program__set_autoload(p.on_getrq_of_queue, by_bio && hooks_.getrq_of_queue);
    bpf_program__set_autoload(p.on_issue, hooks_.issue && !hooks_.issue_of_queue);
    bpf_program__set_autoload(p.on_issue_of_queue, hooks_.issue && hooks_.issue_of_queue);
    bpf_program__set_autoload(p.on_merge, hooks_.merge && !hooks_.merge_of_queue);
    bpf_program__set_autoload(p.on_merge_of_queue, hooks_.merge && hooks_.merge_of_queue);
    skeleton->rodata->by_bio = by_bio;
    skeleton->rodata->flush_sequence = flush_sequence_flag(kernel_btf());
    return {};
  }

  template <class S>
  Result<> attach(Skeleton<S>& skeleton) {
    const auto& p = skeleton->progs;
    open_requests_ = bpf_map__fd(skeleton->maps.open_requests);
    attach_settle(p.settle);
    // The end before the beginning: what has no end known would stay open.
    links_.push_back(TRY(jobscope::attach(p.on_complete)));
    optional(hooks_.merge_of_queue ? p.on_merge_of_queue : p.on_merge, hooks_.merge,
             "requests merged into others may count twice");
    optional(hooks_.issue_of_queue ? p.on_issue_of_queue : p.on_issue, hooks_.issue,
             "time before the device is not told from time in it");
    if (hooks_.start)
      links_.push_back(TRY(jobscope::attach(p.on_start)));
    else
      links_.push_back(
          TRY(jobscope::attach(hooks_.getrq_of_queue ? p.on_getrq_of_queue : p.on_getrq)));
    return {};
  }

  // What does not work of what is optional; "" if all does.
  const std::string& degraded() const { return degraded_; }

  // Has request_unseen() called for each request that is no longer under way though nobody told its
  // end. Not for several threads at once.
  void settle() const;

 private:
  void attach_settle(const bpf_program* program);
  void optional(bpf_program* program, bool exists, const std::string& lack);

  BlockHooks hooks_;
  std::vector<Link> links_;
  Link settle_;
  int open_requests_ = -1;
  std::string degraded_;
};

}  // namespace jobscope
