#include "src/output/text_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <tuple>

#include "src/model/findings.h"
#include "src/output/report_sections.h"

namespace jobscope {
namespace {

constexpr Nanoseconds kLongRun = 600'000'000'000;  // also told in hours and minutes
constexpr Nanoseconds kShortRun = 100'000'000;     // too short for a verdict

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string ending(const Subject& subject) {
  const auto& job = subject.snapshot.job;
  const auto* root = subject.processes.find(job.root_pid);
  if (job.signal) {
    std::string text = "killed by " + signal_name(*job.signal);
    if (root != nullptr && root->killed_by) text += " from " + killer_name(*root->killed_by);
    return text;
  }
  if (job.exit_code) return fmt::format("exit {}", *job.exit_code);
  if (root != nullptr && root->exited) return "ended, exit code unknown";
  const auto& threads = subject.snapshot.threads;
  const bool over = job.root_pid == 0 && !threads.empty() &&
                    std::all_of(threads.begin(), threads.end(),
                                [](const ThreadUse& thread) { return thread.exited; });
  return over ? "all its processes ended" : "still running";
}

// Processes that outlived the root process.
uint64_t left_running(const Subject& subject) {
  const auto& job = subject.snapshot.job;
  if (!job.exit_code && !job.signal) return 0;
  uint64_t count = 0;
  for (const auto& process : subject.snapshot.processes)
    if (!process.exited) count += process.processes;
  return count;
}

void add_head(const Subject& subject, Page& page) {
  const auto& job = subject.snapshot.job;
  const auto& style = page.style();
  std::string what = command_line(job.argv);
  if (job.argv.empty())
    what = (job.name.empty() ? "job" : job.name) + std::string(job.attached ? " (attached)" : "");
  else if (!job.name.empty() && job.name != base_name(job.argv[0]))
    what = job.name + ": " + what;
  const std::string end = ending(subject);
  const bool good = job.exit_code == 0 || (!job.exit_code && !job.signal);
  what = printable(what, style);
  const size_t room = page.width() - std::min(page.width(), columns(end) + 3);
  if (columns(what) <= room) {
    page.headline(what, end, good ? Colour::green : Colour::red);
  } else {
    page.headline(shorten(what, page.width(), style), "", Colour::none);
    page.list({end}, 0, good ? Colour::green : Colour::red);
  }

  std::string elapsed = human_time(job.elapsed) + (job.attached ? " watched" : " elapsed");
  if (job.elapsed >= kLongRun) {
    const auto minutes = job.elapsed / 60'000'000'000;
    elapsed += fmt::format(" ({} h {:02} min)", minutes / 60, minutes % 60);
  }
  const bool known = subject.totals.cpu_known;
  const double busy = share_of(subject.totals.cpu, job.elapsed);
  std::string cores;
  if (known && job.elapsed > 0)
    cores = job.cpus > 0 ? fmt::format("{} of {} core{} busy", human_cores(busy), job.cpus,
                                       job.cpus == 1 ? "" : "s")
                         : human_cores(busy) + " cores busy";
  const uint64_t left = left_running(subject);
  page.list({elapsed, known ? human_time(subject.totals.cpu) + " CPU" : "CPU unknown", cores,
             left > 0 ? fmt::format("{} of its processes still running", human_count(left)) : ""},
            0);
}

std::string share_words(const Finding& finding) {
  if (finding.of.empty()) return {};
  if (finding.of == "how the job ended") return finding.of;
  return (finding.share_known() ? human_percent(finding.share) : "unknown share") + " of " +
         finding.of;
}

// What a report says first when no finding does: where the main thread was.
std::string plain_facts(const Subject& subject) {
  const auto* main = subject.focus.main;
  if (main == nullptr || sum(main->parts) == 0)
    return "Where the time went is unknown: no thread of the job was seen.";
  if (subject.snapshot.job.elapsed < kShortRun)
    return "Too short a run to say what it was slow at.";
  std::vector<std::pair<Nanoseconds, Reason>> parts;
  for (size_t i = 0; i < kReasons; ++i)
    if (main->parts[i] > 0) parts.emplace_back(main->parts[i], static_cast<Reason>(i));
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string words = "Nothing stands out. The main thread's time:";
  for (size_t i = 0; i < std::min<size_t>(3, parts.size()); ++i)
    if (const double share = share_of(parts[i].first, sum(main->parts)); i == 0 || share >= 0.01)
      words +=
          fmt::format("{} {} {}", i > 0 ? " ·" : "", label(parts[i].second), human_percent(share));
  const auto& group = subject.groups.front();
  return words + fmt::format(". Most CPU: {}, {}.", group.label,
                             human_percent(share_of(group.cpu(), subject.totals.cpu)));
}

void add_verdict(const Subject& subject, const std::vector<Finding>& findings, Page& page) {
  page.blank();
  if (findings.empty()) {
    page.paragraph(plain_facts(subject), 0, Colour::bold, "→ ");
    return;
  }
  page.paragraph(findings[0].text, 0, Colour::bold, "→ ");
  std::vector<std::string> others;
  for (size_t i = 1; i < findings.size(); ++i) {
    const std::string share = share_words(findings[i]);
    others.push_back(fmt::format("{}{}{}{}", i == 1 ? "also " : "", findings[i].id,
                                 share.empty() ? "" : ", ", share));
  }
  page.list(others, 2);
}

void add_findings(const std::vector<Finding>& findings, Page& page) {
  if (findings.empty()) return;
  page.section("Findings");
  size_t number = 0;
  for (const auto& finding : findings) {
    const std::string share = share_words(finding);
    page.paragraph(finding.id + (share.empty() ? "" : " · " + share), 2, Colour::bold,
                   fmt::format("{}. ", ++number));
    page.paragraph(finding.text, 5);
    std::vector<std::string> evidence;
    for (const auto& [what, value] : finding.evidence)
      evidence.push_back(fmt::format("{}: {}", what, value));
    page.list(evidence, 5, Colour::dim);
    page.paragraph(finding.advice, 5, Colour::none, "→ ");
  }
}

std::string utc(int64_t unix_ns) {
  using namespace std::chrono;
  const sys_seconds at{seconds(unix_ns / 1'000'000'000)};
  const auto day = floor<days>(at);
  const year_month_day date(day);
  const hh_mm_ss time(at - day);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", int(date.year()),
                     unsigned(date.month()), unsigned(date.day()), time.hours().count(),
                     time.minutes().count(), time.seconds().count());
}

void add_circumstances(const Subject& subject, Page& page) {
  const auto& snapshot = subject.snapshot;
  page.blank();
  page.fact(
      "Ran on",
      {snapshot.job.host, snapshot.job.kernel.empty() ? "" : "Linux " + snapshot.job.kernel,
       snapshot.job.started_unix_ns > 0
           ? (snapshot.job.attached ? "watched from " : "from ") + utc(snapshot.job.started_unix_ns)
           : ""});
  auto probes = snapshot.probes;
  std::erase_if(probes, [](const ProbeStatus& p) { return p.state == ProbeStatus::State::ok; });
  std::sort(probes.begin(), probes.end(), [](const ProbeStatus& a, const ProbeStatus& b) {
    return std::tie(a.name, a.reason) < std::tie(b.name, b.reason);
  });
  for (const auto& probe : probes)
    page.fact(
        probe.name,
        {std::string(probe.state == ProbeStatus::State::degraded ? "degraded" : "unavailable") +
         ": " + (probe.reason.empty() ? "reason unknown" : probe.reason)},
        Colour::yellow);
}

void add_cost(const Subject& subject, Page& page) {
  const auto& self = subject.snapshot.self;
  const double share = share_of(self.cpu + self.bpf.value_or(0), subject.totals.cpu);
  std::string cost = human_time(self.cpu) + " CPU" +
                     (self.bpf ? " + " + human_time(*self.bpf) + " BPF" : ", BPF unknown");
  if (subject.totals.cpu > 0)  // of a job shorter than our own start a share says nothing
    cost += share < 1 ? fmt::format(" ({}{} of the job)", self.bpf ? "" : "at least ",
                                    human_percent(share))
                      : fmt::format(" (the job itself: {})", human_time(subject.totals.cpu));
  std::string lost = "nothing lost";
  if (self.events_lost > 0) {
    lost = human_count(self.events_lost) + " events LOST";
    std::string kinds;
    for (const auto& [kind, count] : self.lost)
      if (count > 0)
        kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", kind, human_count(count));
    if (!kinds.empty()) lost += " (" + kinds + ")";
  }
  page.fact(
      "jobscope",
      {cost, fmt::format("RSS {}, maps {}", human_bytes(self.rss), human_bytes(self.map_bytes)),
       lost},
      self.events_lost > 0 ? Colour::red : Colour::none);
}

}  // namespace

std::string text_report(const Snapshot& snapshot, const TextStyle& style) {
  const Subject subject(snapshot);
  const auto findings = find(snapshot);
  Page page(style);
  add_head(subject, page);
  add_verdict(subject, findings, page);
  add_main_thread(subject, page);
  add_groups(subject, page);
  add_waits(subject, page);
  add_block_io(subject, page);
  add_files(subject, page);
  add_network(subject, page);
  add_tables(subject, page);
  add_cores(subject, page);
  add_processes(subject, page);
  add_memory(subject, page);
  add_absent(subject, page);
  add_findings(findings, page);
  add_circumstances(subject, page);
  add_cost(subject, page);
  return page.take();
}

}  // namespace jobscope
