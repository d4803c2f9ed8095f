#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "src/output/report_sections.h"

namespace jobscope {
namespace {

constexpr size_t kBars = 10;  // reasons of the main thread
constexpr size_t kGroups = 12;
constexpr size_t kMainWaits = 6, kOtherWaits = 5, kIdleWaits = 3;
constexpr size_t kCoresInFull = 16;
constexpr uint64_t kLeastSamples = 50;  // fewer say little of a share

constexpr auto kRight = Column::Align::right;

Colour colour_of(Reason reason) {
  if (on_cpu(reason)) return Colour::green;
  if (!blocked(reason)) return Colour::red;
  if (for_files(reason) || for_network(reason)) return Colour::yellow;
  return Colour::cyan;
}

std::string id_of(std::string_view name, uint32_t pid) {
  return fmt::format("{} (pid {})", name.empty() ? "process" : name, pid);
}

// "heap (62 %) · woken by KernelThread_0 (84 %)": what this wait of the main thread was for.
std::string note_of(const Subject& subject, const ThreadUse& main, Reason reason) {
  const Nanoseconds whole = part(main.parts, reason);
  std::map<std::string_view, Nanoseconds> targets;
  for (const auto& use : subject.snapshot.waits)
    if (use.pid == main.pid && use.main_thread && use.reason == reason)
      if (const auto target = told_target(use.target); !target.empty()) targets[target] += use.wait;
  std::string note;
  if (!targets.empty()) {
    const auto top = std::max_element(targets.begin(), targets.end(),
                                      [](auto& a, auto& b) { return a.second < b.second; });
    note = top->first;
    const double share = share_of(top->second, whole);
    if (share < 0.95) note += fmt::format(" ({})", human_percent(share));
  }
  const auto wakers = wakers_of(subject.snapshot, subject.processes, main, reason);
  if (wakers.empty()) return note;
  const auto& top = wakers.front();
  using Kind = WakerGroup::Kind;
  std::string who = top.kind == Kind::kernel ? "the kernel" : top.name;
  const bool many = top.threads > 1;
  if (top.kind == Kind::other)
    who += ", another process";
  else if (top.kind == Kind::child)
    who = many ? fmt::format("{} children {}", top.threads, top.name) : "its child " + top.name;
  else if (top.unnamed)
    who = fmt::format("{} unnamed thread{}", top.threads, many ? "s" : "");
  else if (many)
    who = fmt::format("{} {}", top.threads, top.name);
  if (share_of(top.wait, whole) < 0.25) return note;  // most of it has another end: a timeout
  return fmt::format("{}{}woken by {} ({})", note, note.empty() ? "" : " · ", who,
                     human_percent(share_of(top.wait, whole)));
}

void add_bars(const Subject& subject, const ThreadUse& main, Page& page) {
  const Nanoseconds whole = sum(main.parts);
  std::vector<std::pair<Nanoseconds, Reason>> parts;
  for (size_t i = 0; i < kReasons; ++i)
    if (main.parts[i] > 0) parts.emplace_back(main.parts[i], static_cast<Reason>(i));
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  size_t shown = 0;
  while (shown < std::min(parts.size(), kBars) && share_of(parts[shown].first, whole) >= 0.01)
    ++shown;
  if (shown + 1 >= parts.size()) shown = parts.size();  // a single small one has its own line

  const size_t cells = page.width() >= 100 ? 20 : 10;
  TextTable table({{.heading = ""},
                   {.heading = "", .align = kRight},
                   {.heading = "", .align = kRight},
                   {.heading = "", .drop = 1},
                   {.heading = "", .note = true}});
  for (size_t i = 0; i < shown; ++i) {
    const auto [time, reason] = parts[i];
    table.row({std::string(label(reason)), human_percent(share_of(time, whole)), human_time(time),
               Cell(bar(share_of(time, parts[0].first), cells, page.style()), colour_of(reason)),
               note_of(subject, main, reason)});
  }
  Nanoseconds rest = 0;
  std::string names;
  for (size_t i = shown; i < parts.size(); ++i) {
    rest += parts[i].first;
    names += (names.empty() ? "" : " · ") + std::string(label(parts[i].second));
  }
  if (rest > 0)
    table.row({fmt::format("{} more", parts.size() - shown), human_percent(share_of(rest, whole)),
               human_time(rest), "", names});
  page.table(table);
}

// Rows of the table of waits.
class WaitRows {
 public:
  WaitRows(const Subject& subject, TextTable& table) : table_(table) {
    for (const auto& thread : subject.snapshot.threads)
      if (thread.threads == 1 && thread.pid == thread.tid && thread.pid != 0)
        main_times_[std::string(subject.processes.name(thread.pid))] += sum(thread.parts);
    std::set<std::string_view> names;
    for (const auto& wait : subject.snapshot.waits) names.insert(wait.process);
    many_ = names.size() > 1;
  }

  double share(const NamedWait& wait) const {
    const auto whole = main_times_.find(wait.process);
    return wait.main_thread && whole != main_times_.end() ? share_of(wait.wait, whole->second) : 0;
  }
  void add(const NamedWait& wait, Colour colour = Colour::none) {
    std::string who = wait.main_thread ? "main" : "others";
    if (many_)
      who = wait.process.empty() ? "some that ended" : fmt::format("{} ({})", wait.process, who);
    const double part = share(wait);
    table_.row({Cell(std::move(who), colour), Cell(std::string(label(wait.reason)), colour),
                Cell(wait.target, colour), Cell(human_time(wait.wait), colour),
                part > 0 ? human_percent(part) : "", Cell(human_count(wait.waits), colour),
                Cell(wait.waits > 0 ? human_time(wait.wait / wait.waits) : "", colour)});
  }

 private:
  TextTable& table_;
  std::map<std::string, Nanoseconds> main_times_;
  bool many_ = false;  // kinds of process
};

// The stem of the name of the processes whose main threads the job's time is told by: the trainer
// and its other ranks, not their loaders.
std::string_view lead_stem(const Subject& subject) {
  const auto* main = subject.focus.main;
  return main == nullptr ? std::string_view() : name_stem(subject.processes.name(main->pid));
}

// What is to be said of waits that may be idleness.
std::string idle_words(const Subject& subject) {
  Parts parts{};
  uint64_t threads = 0, idle = 0;
  for (const auto& group : subject.groups) {
    if (group.main && group.stem == lead_stem(subject)) continue;
    threads += group.threads;
    idle += group.idle;
    for (size_t i = 0; i < kReasons; ++i)
      if (may_be_idle(static_cast<Reason>(i))) parts[i] += group.parts[i];
  }
  const Nanoseconds total = sum(parts);
  if (total == 0) return {};
  std::string reasons;
  size_t told = 0;
  for (const auto& [reason, time] : blocked_reasons(parts))
    if (told++ < 3 && share_of(time, total) >= 0.01)
      reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", label(reason),
                             human_percent(share_of(time, total)));
  std::string words = fmt::format(
      "Other threads ({}) waited {} for work or for each other: {}. That need not cost time.",
      human_count(threads), human_time(total), reasons);
  if (idle > 0)
    words += fmt::format(" {} of them {} idle: 98 % of {} life or more went so.", human_count(idle),
                         idle == 1 ? "was" : "were", idle == 1 ? "its" : "their");
  return words;
}

// What stands between a core and its time: how busy it was, as a small bar; in ASCII a colon.
std::string spark(double share, const TextStyle& style) {
  constexpr std::array<const char*, 8> kHeights = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (!style.unicode) return ":";
  const auto level = static_cast<size_t>(8 * std::clamp(share, 0.0, 1.0));
  return fmt::format(" {}", kHeights[std::min<size_t>(level, 7)]);
}

// "3, 8-15": the CPUs below `cpus` that are not among `cores`.
std::string unused_cores(const std::map<uint32_t, Nanoseconds>& cores, uint32_t cpus) {
  std::string text;
  for (uint32_t cpu = 0; cpu < cpus; ++cpu) {
    if (cores.contains(cpu)) continue;
    const uint32_t first = cpu;
    while (cpu + 1 < cpus && !cores.contains(cpu + 1)) ++cpu;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", first);
    if (cpu > first) text += fmt::format("-{}", cpu);
  }
  return text;
}

}  // namespace

bool Subject::watched(std::string_view probe) const {
  return std::any_of(snapshot.probes.begin(), snapshot.probes.end(), [probe](const auto& status) {
    return status.name == probe && status.state != ProbeStatus::State::unavailable;
  });
}

void add_main_thread(const Subject& subject, Page& page) {
  const auto& focus = subject.focus;
  if (focus.main == nullptr) {
    page.section("Main thread", "unknown: none was seen");
    return;
  }
  const auto name = [&](const ThreadUse& t) { return id_of(subject.processes.name(t.pid), t.pid); };
  page.section("Main thread",
               fmt::format("{} · {}", name(*focus.main), human_time(sum(focus.main->parts))));
  if (focus.launcher()) {
    const auto waits = blocked_reasons(focus.root->parts);
    std::string words =
        fmt::format("{} only started others and waited for them", name(*focus.root));
    if (!waits.empty())
      words += fmt::format(" ({} {})", label(waits[0].first),
                           human_percent(share_of(waits[0].second, sum(focus.root->parts))));
    page.paragraph(words + "; this is the process below it whose family used the most CPU.");
  } else if (focus.root == nullptr) {
    page.paragraph("The process whose family used the most CPU.");
  }
  if (sum(focus.main->parts) == 0)
    page.paragraph("It has not run yet.");
  else
    add_bars(subject, *focus.main, page);
}

void add_groups(const Subject& subject, Page& page) {
  if (subject.groups.empty()) return;
  const auto plural = [](uint64_t n, const char* one, const char* many) {
    return human_count(n) + " " + (n == 1 ? one : many);
  };
  page.section("Threads",
               subject.totals.processes > 0
                   ? fmt::format("{} in {}", plural(subject.totals.threads, "thread", "threads"),
                                 plural(subject.totals.processes, "process", "processes"))
                   : plural(subject.totals.threads, "thread", "threads"));
  TextTable table({{.heading = "name", .least = 18},
                   {.heading = "n", .align = kRight},
                   {.heading = "CPU", .align = kRight},
                   {.heading = "of job", .align = kRight, .drop = 6},
                   {.heading = "queued", .align = kRight, .drop = 2},
                   {.heading = "waits for", .least = 12},
                   {.heading = "and for", .drop = 7},
                   {.heading = "cores", .align = kRight, .drop = 3},
                   {.heading = "yields", .align = kRight, .drop = 5},
                   {.heading = "spin", .align = kRight, .drop = 4}});
  const auto row = [&](const std::string& name, const ThreadGroup& group) {
    std::array<std::string, 2> waits;
    const auto reasons = blocked_reasons(group.parts);
    for (size_t i = 0; i < std::min(waits.size(), reasons.size()); ++i)
      if (const double share = share_of(reasons[i].second, group.lifetime); share >= 0.0005)
        waits[i] = fmt::format("{} {}", label(reasons[i].first), human_percent(share));
    table.row({name, human_count(group.threads), human_time(group.cpu()),
               human_percent(share_of(group.cpu(), subject.totals.cpu)),
               human_time(part(group.parts, Reason::runqueue)), waits[0], waits[1],
               group.cores.empty() ? "" : std::to_string(cores_used(group.cores)),
               group.yields >= 1000 ? human_count(group.yields) : "",
               group.samples >= kLeastSamples && group.yield_samples > 0
                   ? human_percent(share_of(group.yield_samples, group.samples))
                   : ""});
  };
  // Those at the end that used next to no CPU go together, even if there is room for them.
  size_t shown = std::min(subject.groups.size(), kGroups);
  while (shown > 0 && share_of(subject.groups[shown - 1].cpu(), subject.totals.cpu) < 0.0005)
    --shown;
  if (shown + 2 >= subject.groups.size()) shown = subject.groups.size();
  for (size_t i = 0; i < shown; ++i) row(subject.groups[i].label, subject.groups[i]);
  if (shown < subject.groups.size()) {
    ThreadGroup rest;
    for (size_t i = shown; i < subject.groups.size(); ++i) {
      const auto& group = subject.groups[i];
      rest.threads += group.threads;
      rest.lifetime += group.lifetime;
      add(rest.parts, group.parts);
      for (const auto& [core, time] : group.cores) rest.cores[core] += time;
      rest.yields += group.yields;
      rest.samples += group.samples;
      rest.yield_samples += group.yield_samples;
    }
    row(fmt::format("{} more", subject.groups.size() - shown), rest);
  }
  page.table(table);
}

void add_waits(const Subject& subject, Page& page) {
  TextTable table({{.heading = "who", .least = 16},
                   {.heading = "for"},
                   {.heading = "named", .least = 16},
                   {.heading = "time", .align = kRight},
                   {.heading = "share", .align = kRight, .drop = 2},
                   {.heading = "times", .align = kRight, .drop = 4},
                   {.heading = "each", .align = kRight, .drop = 3}});
  WaitRows rows(subject, table);
  auto waits = named_waits(subject.snapshot, subject.focus);
  // Shorter waits are not worth a line.
  const Nanoseconds least =
      subject.focus.main == nullptr ? 0 : sum(subject.focus.main->parts) / 1000;
  size_t main = 0, others = 0, idle = 0;
  const auto leads = [&](const NamedWait& wait) {
    return wait.main_thread && name_stem(wait.process) == lead_stem(subject);
  };
  for (const auto& wait : waits)
    if (leads(wait) && wait.wait >= least && main++ < kMainWaits) rows.add(wait);
  std::stable_sort(waits.begin(), waits.end(),
                   [](const NamedWait& a, const NamedWait& b) { return a.wait > b.wait; });
  for (const auto& wait : waits)
    if (!leads(wait) && !may_be_idle(wait.reason) && wait.wait >= least && others++ < kOtherWaits)
      rows.add(wait);
  for (const auto& wait : waits)
    if (!leads(wait) && may_be_idle(wait.reason) && !wait.target.empty() && idle++ < kIdleWaits)
      rows.add(wait, Colour::dim);
  const std::string words = idle_words(subject);
  if (table.empty() && words.empty()) return;
  page.section("Waited for");
  if (!table.empty()) page.table(table);
  if (!words.empty()) page.paragraph(words);
}

void add_cores(const Subject& subject, Page& page) {
  const auto& totals = subject.totals;
  const auto& job = subject.snapshot.job;
  page.blank();
  const std::string unused = unused_cores(totals.cores, job.cpus);
  const std::string never = unused.empty() ? "" : "never on " + unused;
  if (totals.cores.empty()) {
    page.fact("Cores", {"unknown"});
  } else if (totals.cores.size() <= kCoresInFull) {
    std::vector<std::string> parts;
    for (const auto& [core, time] : totals.cores)
      parts.push_back(fmt::format("{}{} {}", core, spark(share_of(time, job.elapsed), page.style()),
                                  human_time(time)));
    parts.push_back(never);
    page.fact("Cores", parts);
  } else {
    std::vector<std::pair<Nanoseconds, uint32_t>> times;
    for (const auto& [core, time] : totals.cores) times.emplace_back(time, core);
    std::sort(times.begin(), times.end());
    page.fact(
        "Cores",
        {fmt::format("{} used", times.size()) +
             (job.cpus > 0 ? fmt::format(" of {}", job.cpus) : ""),
         fmt::format("95 % of the CPU time on {}", cores_used(totals.cores)),
         fmt::format("least {} (core {})", human_time(times.front().first), times.front().second),
         "median " + human_time(times[times.size() / 2].first),
         fmt::format("most {} (core {})", human_time(times.back().first), times.back().second),
         never});
  }
  if (totals.threads > 0) {
    const uint64_t rate = per_second(totals.migrations, job.elapsed);
    page.fact("Moves", {fmt::format("{} between cores{}", human_count(totals.migrations),
                                    rate > 0 ? fmt::format(" ({}/s)", human_count(rate)) : ""),
                        human_count(totals.node_moves) + " between NUMA nodes"});
    page.fact("Switches", {human_count(totals.voluntary) + " to wait",
                           human_count(totals.involuntary) + " preempted"});
  }
  const auto& queue = subject.snapshot.runqueue;
  if (queue.count() > 0)
    page.fact("Run queue", {"p50 " + human_micros(queue.quantile(0.5)),
                            "p99 " + human_micros(queue.quantile(0.99)),
                            "longest " + human_micros(static_cast<double>(queue.max)),
                            human_count(queue.count()) +
                                (queue.count() == 1 ? " wait for a CPU" : " waits for a CPU")});
}

}  // namespace jobscope
