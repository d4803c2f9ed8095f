#include "src/trace/filter.h"

#include <unistd.h>

#include "src/bpf/map.h"

namespace jobscope {
namespace {

constexpr size_t kMostJobs = 65536;
constexpr int kLooks = 3;  // for processes that come while we look

}  // namespace

Result<> Followed::begin() {
  if (filter_.pids)
    for (int look = 0; look < kLooks; ++look)
      for (const uint32_t pid : filter_.pids()) set(pid, VERDICT_PASS);
  if (!filter_.job.empty())
    for (const uint32_t pid : finder_->processes_of(filter_.job)) {
      jobs_[pid] = filter_.job;
      set(pid, VERDICT_PASS);
    }
  return {};
}

void Followed::set(uint32_t pid, verdict verdict) {
  const uint32_t value = verdict;
  bpf_map_update_elem(verdicts_, &pid, &value, BPF_ANY);
  met_ = met_ || verdict == VERDICT_PASS;
}

void Followed::take(const new_process& process) {
  if (jobs_.size() > kMostJobs) jobs_.clear();
  if (process.ppid) {  // a child is its parent's until it runs something else
    const auto parent = jobs_.find(process.ppid);
    if (parent == jobs_.end())
      jobs_.erase(process.pid);
    else
      jobs_[process.pid] = std::string(parent->second);
    return;
  }
  const auto known = jobs_.find(process.pid);
  if (known != jobs_.end() && known->second.empty()) jobs_.erase(known);
  if (filter_.job.empty())
    (void)job_of(process.pid);  // while it is there
  else
    (void)judge(process.pid);
}

std::string Followed::job_of(uint32_t pid) {
  const auto known = jobs_.find(pid);
  if (known != jobs_.end()) return known->second;
  if (jobs_.size() > kMostJobs) jobs_.clear();
  const auto labels = finder_->of_process(pid);
  return jobs_[pid] = labels ? labels->job : std::string();
}

verdict Followed::judge(uint32_t pid) {
  const bool passes = job_of(pid) == filter_.job;
  // One that is gone leaves no trace: its number may soon be another's.
  const bool there = ::access(("/proc/" + std::to_string(pid)).c_str(), F_OK) == 0;
  if (there) set(pid, passes ? VERDICT_PASS : VERDICT_IGNORE);
  if (!there && !passes) return VERDICT_UNKNOWN;
  return passes ? VERDICT_PASS : VERDICT_IGNORE;
}

bool Followed::wants(uint32_t pid, uint32_t verdict) {
  if (!filter_.by_process() || verdict == VERDICT_PASS) return true;
  if (filter_.job.empty() || verdict == VERDICT_IGNORE) return false;
  const auto judged = judge(pid);
  if (judged == VERDICT_UNKNOWN) unjudged_ += 1;
  return judged == VERDICT_PASS;
}

size_t Followed::living() const {
  size_t count = 0;
  if (verdicts_ >= 0)
    for_each<uint32_t, uint32_t>(
        verdicts_, [&](uint32_t, uint32_t verdict) { count += verdict == VERDICT_PASS; });
  return count;
}

}  // namespace jobscope
