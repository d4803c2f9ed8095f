#include "src/jobs/cgroup_place.h"

#include <algorithm>

namespace jobscope {
namespace {

constexpr size_t kIdDigits = 64;
constexpr size_t kShortId = 12;

bool all_of(std::string_view text, std::string_view digits) {
  return !text.empty() && text.find_first_not_of(digits) == std::string_view::npos;
}

void cut_suffix(std::string_view& text, std::string_view suffix) {
  if (text.ends_with(suffix)) text.remove_suffix(suffix.size());
}

// "<64 hex>", "docker-<64 hex>.scope", "libpod-<64 hex>", "x.slice:cri-containerd:<64 hex>"; ""
// for anything else. The monitor beside a container has its own cgroup and is none.
std::string_view container_of(std::string_view component) {
  cut_suffix(component, ".scope");
  if (component.size() < kIdDigits) return {};
  const std::string_view id = component.substr(component.size() - kIdDigits);
  const std::string_view before = component.substr(0, component.size() - kIdDigits);
  if (!all_of(id, "0123456789abcdef")) return {};
  if (!before.empty() && !before.ends_with('-') && !before.ends_with(':')) return {};
  return before.find("conmon") == std::string_view::npos ? id : std::string_view();
}

// "job_17" with "job_" → "17"; "" for anything else.
std::string_view after(std::string_view component, std::string_view prefix) {
  return component.starts_with(prefix) ? component.substr(prefix.size()) : std::string_view();
}

int how_much(const CgroupIdentity& identity) {
  return 4 * !identity.container.empty() + 2 * !identity.slurm_job.empty() +
         !identity.slurm_step.empty() + identity.in_pod;
}

}  // namespace

CgroupIdentity identify_cgroup(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789";
  CgroupIdentity found;
  found.path = path;
  bool slurm = false;
  for (std::string_view rest = path; !rest.empty();) {
    const size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view component = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (component.starts_with("kubepods") || component.find("-kubepods") != std::string_view::npos)
      found.in_pod = true;
    if (const std::string_view id = container_of(component); !id.empty()) found.container = id;
    // /slurm/uid_1000/job_17/step_0/task_0,
    // /system.slice/slurmstepd.scope/job_17/step_0/user/task_0, where several daemons run on one
    // node with the name of each in front
    if (component == "slurm" || component.starts_with("slurm_") ||
        component.ends_with("slurmstepd.scope"))
      slurm = true;
    if (!slurm) continue;
    if (const std::string_view uid = after(component, "uid_"); all_of(uid, kDigits))
      found.slurm_user = uid;
    if (const std::string_view job = after(component, "job_"); all_of(job, kDigits))
      found.slurm_job = job;
    if (const std::string_view step = after(component, "step_"); !step.empty())
      found.slurm_step = step;
  }
  return found;
}

CgroupIdentity identify_cgroups(std::string_view text) {
  CgroupIdentity best;
  while (!text.empty()) {  // "4:cpu,cpuacct:/path"
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    cut_suffix(line, " (deleted)");  // of a process that has ended
    const size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    CgroupIdentity one = identify_cgroup(line.substr(second + 1));
    if (best.path.empty() || how_much(one) > how_much(best)) best = std::move(one);
  }
  return best;
}

std::string short_id(const std::string& container) { return container.substr(0, kShortId); }

}  // namespace jobscope
