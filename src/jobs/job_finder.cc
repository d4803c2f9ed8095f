#include "src/jobs/job_finder.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <list>
#include <unordered_map>

#include "src/base/cgroup_tree.h"
#include "src/jobs/cgroup_place.h"
#include "src/jobs/job_environment.h"
#include "src/jobs/job_name.h"
#include "src/jobs/process_files.h"
#include "src/jobs/user_names.h"

namespace jobscope {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
// A pid is not used again before all others were: so long nobody looks whether it is the same
// process, so that one scrape looks once.
constexpr uint64_t kTrust = kSecond / 10;
constexpr uint64_t kAskAgain = kSecond;
constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
// The memory maps of a process of no job are read at first every second, then ever more seldom.
constexpr uint64_t kLongestLook = 30 * kSecond;
constexpr int kLooksPerSecond = 500;
constexpr int kMaxDepth = 128;  // of the tree of processes
constexpr size_t kLeastRemembered = 2 * kMaxDepth;
constexpr size_t kRememberedCgroups = 16'384;
constexpr size_t kAskedOfCgroup = 16;  // processes

// What a job is known by and its copies are told apart by.
struct Root {
  std::string job, instance;
};
using RootPtr = std::shared_ptr<const Root>;

// What environment and cgroup say, in rising order of weight.
struct Evidence {
  enum Kind { none, container, pod, slurm_cgroup, slurm, pai } kind = none;
  std::string within;  // id of the container
  JobLabels labels;    // user: only if one is told
};
using EvidencePtr = std::shared_ptr<const Evidence>;

// A container of containerd's that has a name and no long id: only the process that keeps it knows.
struct NamedContainer {
  std::string name, path;  // "redis", "/default/redis"
};

// What passes from a process to those below it.
struct Inheritance {
  RootPtr run, tree;
  EvidencePtr evidence;
  std::shared_ptr<const NamedContainer> container;
};

struct Process {
  ThreadStat stat;
  uint32_t process = 0;  // that this is a thread of, or its own number
  uint32_t user = 0;
  uint64_t first = 0, checked = 0, due = 0, next_look = 0;
  Inheritance from_above, own;
  std::shared_ptr<const JobLabels> labels;
  std::list<uint32_t>::iterator used;
};

struct Cgroup {
  std::shared_ptr<const JobLabels> labels;
  uint64_t due = 0;
};

std::string cut(std::string text) {
  if (text.size() > kMaxLabel) text.resize(kMaxLabel);
  return text;
}

uint32_t number(const std::string& digits) {
  uint32_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

bool runs_python(const std::vector<std::string>& argv) {
  if (argv.empty()) return false;
  const std::string_view command = argv[0];
  return command.substr(command.rfind('/') + 1).starts_with("python");
}

// Of `containerd-shim-runc-v2 -namespace NAMESPACE -id ID`.
std::shared_ptr<const NamedContainer> kept_container(const std::vector<std::string>& argv) {
  if (argv.empty() || argv[0].find("containerd-shim") == std::string::npos) return nullptr;
  std::string space, name;
  for (size_t i = 1; i + 1 < argv.size(); ++i) {
    if (argv[i] == "-namespace") space = argv[i + 1];
    if (argv[i] == "-id") name = argv[i + 1];
  }
  if (space.empty() || name.empty()) return nullptr;
  return std::make_shared<NamedContainer>(NamedContainer{name, "/" + space + "/" + name});
}

// Whether one of the paths in the text of /proc/PID/cgroup is this one or below it.
bool has_path(const std::string& cgroups, const std::string& path) {
  const size_t at = cgroups.find(":" + path);
  if (at == std::string::npos) return false;
  const size_t end = at + 1 + path.size();
  return end == cgroups.size() || cgroups[end] == '\n' || cgroups[end] == '/';
}

// Empties what two processes of one job do not agree on.
void keep_common(JobLabels& labels, const JobLabels& other) {
  const auto keep = [](std::string& mine, const std::string& theirs) {
    if (mine != theirs) mine.clear();
  };
  keep(labels.user, other.user);
  keep(labels.role, other.role);
  keep(labels.index, other.index);
  keep(labels.instance, other.instance);
}

template <class T>
void replace_if(T& value, const T& by) {
  if (by) value = by;
}

}  // namespace

struct JobFinder::Impl {
  explicit Impl(Places given) : places(std::move(given)), files(places.proc), users(places.passwd) {
    places.remembered = std::max(places.remembered, kLeastRemembered);
    unified = unified_hierarchy(places.cgroups);
  }

  Process* known(uint32_t pid, int depth = 0);
  std::shared_ptr<const JobLabels> labels_of(uint32_t pid);
  std::shared_ptr<const JobLabels> labels_of_cgroup(uint64_t id);

  Process& get(uint32_t pid);
  void evaluate(uint32_t pid, Process& process, int depth);
  EvidencePtr evidence_of(const CgroupIdentity& cgroup, const std::string& container,
                          const JobEnvironment& environment);
  void look_for_framework(uint32_t pid, Process& process, const std::vector<std::string>& argv);
  RootPtr root_at(uint32_t pid, const Process& process, std::string job) const;

  Places places;
  std::string unified;  // root of the unified hierarchy
  ProcessFiles files;
  UserNames users;
  std::unordered_map<uint32_t, Process> processes;
  std::list<uint32_t> used;  // the last first
  std::unordered_map<uint64_t, Cgroup> cgroups;
  std::list<uint64_t> cgroups_met;
  uint64_t looks_since = 0;
  int looks = 0;
};

// References stay valid until as many others as may be remembered have been asked for.
Process& JobFinder::Impl::get(uint32_t pid) {
  const auto [at, is_new] = processes.try_emplace(pid);
  if (!is_new) {
    used.splice(used.begin(), used, at->second.used);
    return at->second;
  }
  used.push_front(pid);
  at->second.used = used.begin();
  if (processes.size() > places.remembered) {
    processes.erase(used.back());
    used.pop_back();
  }
  return at->second;
}

// The process as it is now, or as it was when it ended; null if it was never met.
Process* JobFinder::Impl::known(uint32_t pid, int depth) {
  const uint64_t now = places.now();
  const auto found = processes.find(pid);
  const bool met = found != processes.end();
  if (met && now - found->second.checked < kTrust) return &get(pid);
  auto stat = files.stat(pid);
  if (!stat) return met ? &get(pid) : nullptr;
  Process& process = get(pid);
  process.checked = now;
  if (!met || process.stat.start != stat->start) {
    const auto place = process.used;
    process = Process{};
    process.used = place;
    process.first = process.checked = now;
  } else if (process.stat.same_program(*stat)) {
    process.stat.parent = stat->parent;
    if (process.due > now) return &process;
  } else {
    process.own = {};
    process.next_look = 0;
  }
  process.stat = std::move(*stat);
  evaluate(pid, process, depth);
  return &process;
}

void JobFinder::Impl::evaluate(uint32_t pid, Process& process, int depth) {
  process.process = pid;
  process.due = process.stat.kernel ? kNever : process.checked + kAskAgain;
  if (process.stat.kernel) return;
  const auto owner = files.owner(pid);
  if (!owner) return;  // it has just ended: what was known holds
  process.process = owner->process;
  process.user = owner->user;
  if (process.process != pid) {  // a thread: its process is asked in its place
    process.due = kNever;
    return;
  }

  if (process.stat.parent != 0 && depth < kMaxDepth) {
    const Process* parent = known(process.stat.parent, depth + 1);
    // a younger parent has only the number of one that is gone
    if (parent && parent->stat.start <= process.stat.start) {
      replace_if(process.from_above.run, parent->own.run);
      replace_if(process.from_above.tree, parent->own.tree);
      replace_if(process.from_above.evidence, parent->own.evidence);
      replace_if(process.from_above.container, parent->own.container);
    }
  }

  const std::vector<std::string> argv = files.command_line(pid);
  if (argv.empty() && process.labels) return;  // it ends: environment and memory are gone too
  process.labels.reset();
  const std::string paths = files.cgroups(pid);
  const CgroupIdentity cgroup = identify_cgroups(paths);
  const JobEnvironment environment = parse_job_environment(files.environment(pid));
  const Inheritance& above = process.from_above;
  Inheritance& own = process.own;
  const auto run = name_of_run(argv);
  own.run = run ? root_at(pid, process, *run) : above.run;
  own.container = kept_container(argv);
  if (!own.container) own.container = above.container;
  std::string container = cgroup.container;
  if (container.empty() && above.container && has_path(paths, above.container->path))
    container = above.container->name;
  own.evidence = evidence_of(cgroup, container, environment);
  if (above.evidence && above.evidence->within == container &&
      above.evidence->kind > own.evidence->kind)
    own.evidence = above.evidence;
  if (above.tree) own.tree = above.tree;
  const bool is_known = own.run || own.evidence->kind != Evidence::none || own.tree;
  if (is_jobscope(argv) && !run) return;  // watches jobs and is none
  if (!is_known) look_for_framework(pid, process, argv);

  JobLabels labels = own.evidence->labels;
  if (own.run) {
    labels.job = own.run->job;
    labels.instance = own.run->instance;
  } else if (own.evidence->kind == Evidence::none) {
    if (!own.tree) return;
    labels.job = own.tree->job;
    labels.instance = own.tree->instance;
  }
  if (labels.role.empty()) labels.role = environment.role;
  if (labels.index.empty()) labels.index = environment.index;
  if (labels.user.empty()) labels.user = cut(users.name(process.user));
  process.labels = std::make_shared<const JobLabels>(std::move(labels));
  process.due = kNever;
}

EvidencePtr JobFinder::Impl::evidence_of(const CgroupIdentity& cgroup, const std::string& container,
                                         const JobEnvironment& environment) {
  auto evidence = std::make_shared<Evidence>();
  evidence->within = container;
  JobLabels& labels = evidence->labels;
  const JobEnvironment::Pai& pai = environment.pai;
  const JobEnvironment::Slurm& slurm = environment.slurm;
  const std::string short_container = cgroup.container.empty() ? container : short_id(container);
  if (!pai.job.empty()) {
    evidence->kind = Evidence::pai;
    labels = {pai.job, pai.user, pai.role, pai.index,
              pai.attempt.empty() ? short_container : pai.attempt};
  } else if (!slurm.id.empty() || !cgroup.slurm_job.empty()) {
    evidence->kind = slurm.id.empty() ? Evidence::slurm_cgroup : Evidence::slurm;
    const std::string& id = slurm.id.empty() ? cgroup.slurm_job : slurm.id;
    const std::string& step = slurm.step.empty() ? cgroup.slurm_step : slurm.step;
    labels.job = slurm.name.empty() ? "slurm-" + id : slurm.name;
    labels.user = slurm.user;
    if (labels.user.empty() && !cgroup.slurm_user.empty())
      labels.user = users.name(number(cgroup.slurm_user));
    labels.instance = step.empty() ? id : id + "." + step;
  } else if (!container.empty()) {
    // a pod with the host's network has the host's name
    const bool pod = cgroup.in_pod && !environment.host_name.empty() &&
                     environment.host_name != files.host_name();
    evidence->kind = pod ? Evidence::pod : Evidence::container;
    labels.job = pod ? job_of_pod(environment) : short_container;
    labels.instance = short_container;
  }
  for (std::string* label : {&labels.job, &labels.user, &labels.instance})
    *label = cut(std::move(*label));
  return evidence;
}

void JobFinder::Impl::look_for_framework(uint32_t pid, Process& process,
                                         const std::vector<std::string>& argv) {
  const uint64_t now = process.checked;
  if (now < process.next_look) return;
  if (now - looks_since >= kSecond) {
    looks_since = now;
    looks = 0;
  }
  if (looks >= kLooksPerSecond) return;
  ++looks;
  process.next_look = now + std::clamp((now - process.first) / 4, kAskAgain, kLongestLook);
  if (!files.maps_framework(pid)) return;

  uint32_t top = pid;
  std::vector<std::string> top_argv = argv;
  Process* at = &process;
  for (int depth = 0; at->stat.parent > 1 && depth < kMaxDepth; ++depth) {
    const uint32_t parent_pid = at->stat.parent;
    Process* parent = known(parent_pid, kMaxDepth);
    if (!parent || parent->stat.start > at->stat.start) break;
    if (parent->stat.session != process.stat.session || parent->user != process.user) break;
    at = parent;
    std::vector<std::string> parent_argv = files.command_line(parent_pid);
    if (is_jobscope(parent_argv)) break;
    if (!runs_python(parent_argv)) continue;
    top = parent_pid;
    top_argv = std::move(parent_argv);
  }
  Process& root = get(top);
  const std::string name = job_name(top_argv);
  process.own.tree = root_at(top, root, name.empty() ? root.stat.comm : name);
  root.own.tree = process.own.tree;
}

RootPtr JobFinder::Impl::root_at(uint32_t pid, const Process& process, std::string job) const {
  return std::make_shared<const Root>(
      Root{cut(std::move(job)), std::to_string(pid) + "-" + std::to_string(process.stat.start)});
}

std::shared_ptr<const JobLabels> JobFinder::Impl::labels_of(uint32_t pid) {
  const Process* process = known(pid);
  if (process && process->process != pid && process->process != 0)
    process = known(process->process);
  return process ? process->labels : nullptr;
}

std::shared_ptr<const JobLabels> JobFinder::Impl::labels_of_cgroup(uint64_t id) {
  const uint64_t now = places.now();
  const auto [at, is_new] = cgroups.try_emplace(id);
  Cgroup& cgroup = at->second;
  if (is_new) {
    cgroups_met.push_back(id);
    if (cgroups_met.size() > kRememberedCgroups) {
      cgroups.erase(cgroups_met.front());
      cgroups_met.pop_front();
    }
  }
  if (now < cgroup.due) return cgroup.labels;
  cgroup.due = now + kAskAgain;
  const std::string path = places.cgroup_path(id);
  if (path.empty() || path == "/") return cgroup.labels;

  std::optional<JobLabels> common;
  size_t asked = 0;
  const auto text = read_start(unified + path + "/cgroup.procs", 64 << 10);
  const char* digits = text ? text->c_str() : "";
  for (char* end; asked < kAskedOfCgroup; digits = end, ++asked) {
    const auto pid = static_cast<uint32_t>(std::strtoul(digits, &end, 10));
    if (end == digits) break;
    const auto labels = labels_of(pid);
    if (!labels || (common && common->job != labels->job)) {
      cgroup.labels.reset();
      return nullptr;
    }
    if (!common) common = *labels;
    keep_common(*common, *labels);
  }
  if (!common && !cgroup.labels) {  // nobody is in it any more
    const CgroupIdentity identity = identify_cgroup(path);
    const EvidencePtr evidence = evidence_of(identity, identity.container, {});
    if (evidence->kind != Evidence::none) common = evidence->labels;
  }
  if (common) cgroup.labels = std::make_shared<const JobLabels>(std::move(*common));
  return cgroup.labels;
}

JobFinder::JobFinder(Places places) : impl_(std::make_unique<Impl>(std::move(places))) {}
JobFinder::~JobFinder() = default;

std::optional<JobLabels> JobFinder::of_process(uint32_t pid) {
  const auto labels = impl_->labels_of(pid);
  return labels ? std::optional(*labels) : std::nullopt;
}

std::optional<JobLabels> JobFinder::of_cgroup(uint64_t id) {
  const auto labels = impl_->labels_of_cgroup(id);
  return labels ? std::optional(*labels) : std::nullopt;
}

std::vector<uint32_t> JobFinder::processes_of(std::string_view job) {
  std::vector<uint32_t> found;
  for (const uint32_t pid : impl_->files.processes())
    if (const auto labels = impl_->labels_of(pid); labels && labels->job == job)
      found.push_back(pid);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace jobscope
