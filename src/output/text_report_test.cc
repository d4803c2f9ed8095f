#include "src/output/text_report.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <clocale>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "src/model/sample_jobs_for_test.h"

namespace jobscope {
namespace {

using sample_jobs::process;
using sample_jobs::seconds;
using sample_jobs::thread;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const TextStyle kStyle{80, false, true};

std::string golden(const std::string& name) {
  std::ifstream file(std::string(JOBSCOPE_SOURCE_DIR) + "/tests/golden/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

// The line that contains these words, and the lines after it up to a blank one.
std::string paragraph(const std::string& text, const std::string& words) {
  const size_t at = text.find(words);
  if (at == std::string::npos) return {};
  const size_t begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find("\n\n", at) - begin);
}

std::vector<Snapshot> all_samples() {
  return {Snapshot{},
          sample_jobs::lenet(),
          sample_jobs::loader(),
          sample_jobs::fork_storm(),
          sample_jobs::out_of_memory(),
          sample_jobs::empty(),
          sample_jobs::many_threads()};
}

TEST(TextReport, of_known_jobs_is_the_golden_file) {
  EXPECT_EQ(text_report(sample_jobs::lenet(), {80, false, true}), golden("report_lenet_80.txt"));
  EXPECT_EQ(text_report(sample_jobs::lenet(), {40, false, true}), golden("report_lenet_40.txt"));
  EXPECT_EQ(text_report(sample_jobs::lenet(), {120, false, true}), golden("report_lenet_120.txt"));
  EXPECT_EQ(text_report(sample_jobs::loader(), {80, false, true}), golden("report_loader_80.txt"));
  EXPECT_EQ(text_report(sample_jobs::fork_storm(), {80, false, true}),
            golden("report_forks_80.txt"));
  EXPECT_EQ(text_report(sample_jobs::out_of_memory(), {100, false, false}),
            golden("report_out_of_memory_100_ascii.txt"));
  EXPECT_EQ(text_report(sample_jobs::empty(), {80, false, true}), golden("report_empty_80.txt"));
  EXPECT_EQ(text_report(sample_jobs::many_threads(), {120, false, true}),
            golden("report_many_threads_120.txt"));
}

TEST(TextReport, is_never_wider_than_asked) {
  for (const auto& snapshot : all_samples())
    for (unsigned width = 0; width <= 160; width += 4)
      for (const bool unicode : {true, false})
        for (const auto& line : lines(text_report(snapshot, {width, false, unicode}))) {
          EXPECT_LE(columns(line), std::max(width, kLeastWidth)) << line;
          EXPECT_THAT(line, Not(EndsWith(" ")));
          const bool ascii =
              std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c < 127; });
          EXPECT_TRUE(unicode || ascii) << line;
        }
}

TEST(TextReport, in_colour_says_the_same) {
  for (const auto& snapshot : all_samples()) {
    std::string text = text_report(snapshot, {80, true, true});
    for (size_t at = text.find('\x1b'); at != std::string::npos; at = text.find('\x1b'))
      text.erase(at, text.find('m', at) - at + 1);
    EXPECT_EQ(text, text_report(snapshot, kStyle));
  }
}

TEST(TextReport, does_not_depend_on_the_order_of_vectors) {
  std::mt19937 random(23);
  for (Snapshot snapshot : all_samples()) {
    const std::string before = text_report(snapshot, kStyle);
    for (int i = 0; i < 3; ++i) {
      const auto shuffle = [&](auto& v) { std::shuffle(v.begin(), v.end(), random); };
      shuffle(snapshot.threads), shuffle(snapshot.processes), shuffle(snapshot.oom_kills);
      shuffle(snapshot.block_io), shuffle(snapshot.files), shuffle(snapshot.network);
      shuffle(snapshot.waits), shuffle(snapshot.wakers), shuffle(snapshot.probes);
      EXPECT_EQ(text_report(snapshot, kStyle), before);
    }
  }
}

TEST(TextReport, does_not_depend_on_the_locale) {
  const std::string before = text_report(sample_jobs::lenet(), kStyle);
  for (const char* name : {"de_DE.UTF-8", "C.UTF-8", "tr_TR.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) == nullptr) continue;
    EXPECT_EQ(text_report(sample_jobs::lenet(), kStyle), before) << name;
  }
  std::setlocale(LC_ALL, "C");
}

TEST(TextReport, of_nothing_says_unknown_and_not_zero) {
  const std::string text = text_report(Snapshot{}, kStyle);
  EXPECT_THAT(text, StartsWith("job · still running\n0 s elapsed · CPU unknown\n"));
  EXPECT_THAT(text, HasSubstr("Where the time went is unknown"));
  EXPECT_THAT(text, HasSubstr("Cores      unknown"));
  EXPECT_THAT(text, HasSubstr("Processes  unknown"));
  EXPECT_THAT(text, HasSubstr("peak unknown · faults unknown"));
  EXPECT_THAT(text, HasSubstr("Unknown    block I/O · waits for files · network traffic"));
  EXPECT_THAT(text, HasSubstr("BPF unknown"));
}

std::string first_line(const Snapshot& snapshot) { return lines(text_report(snapshot, kStyle))[0]; }

TEST(TextReport, says_how_the_job_ended) {
  Snapshot s = sample_jobs::lenet();
  s.job.exit_code = 3;
  EXPECT_THAT(first_line(s), EndsWith(" · exit 3"));
  s.job.exit_code.reset();
  EXPECT_THAT(first_line(s), EndsWith(" · ended, exit code unknown"));
  s.processes[0].exited = false;
  EXPECT_THAT(first_line(s), EndsWith(" · still running"));
  s.job.signal = 9;
  EXPECT_THAT(first_line(s), EndsWith(" · killed by SIGKILL"));
  s.processes[0].killed_by = Killer{12, "kubelet"};
  EXPECT_THAT(text_report(s, kStyle), HasSubstr("\nkilled by SIGKILL from kubelet (pid 12)\n"));
  s.job.name = "python3";  // as its program: said once
  EXPECT_THAT(first_line(s), StartsWith("python3 examples/"));
}

TEST(TextReport, of_a_group_of_processes_says_when_all_have_ended) {
  Snapshot s = sample_jobs::lenet();
  s.job = JobRun{};
  s.job.name = "/system.slice/train";
  s.job.attached = true;
  s.job.elapsed = seconds(15.7);
  EXPECT_EQ(first_line(s), "/system.slice/train (attached) · all its processes ended");
  s.threads[0].exited = false;
  EXPECT_THAT(first_line(s), EndsWith("still running"));
}

TEST(TextReport, tells_of_processes_that_outlived_the_job) {
  Snapshot s = sample_jobs::lenet();
  s.processes[1].exited = false;
  EXPECT_THAT(text_report(s, kStyle), HasSubstr("1 of its processes still running"));
}

TEST(TextReport, of_a_long_run_tells_hours) {
  Snapshot s = sample_jobs::lenet();
  s.job.elapsed = seconds(5'412);
  EXPECT_THAT(text_report(s, kStyle), HasSubstr("5,412 s elapsed (1 h 30 min)"));
}

TEST(TextReport, shows_the_whole_of_the_main_threads_time) {
  Snapshot s;
  s.job.root_pid = 1;
  s.threads.push_back({.pid = 1, .tid = 1, .name = "x"});
  for (size_t i = 0; i < kReasons; ++i) s.threads[0].parts[i] = (i + 1) * 1'000'000'000;
  s.threads[0].lifetime = sum(s.threads[0].parts);
  const auto bars = lines(paragraph(text_report(s, {120, false, true}), "Main thread"));
  ASSERT_GT(bars.size(), 12U);
  EXPECT_THAT(bars[1], StartsWith("  other           7.4 %  26.0 s  ████████████████████"));
  EXPECT_THAT(bars[10], StartsWith("  unix socket     4.8 %  17.0 s  "));
  EXPECT_THAT(bars[11], StartsWith("  16 more          39 %   136 s "));
  EXPECT_THAT(bars[11], HasSubstr("pipe · poll · network connect"));
}

TEST(TextReport, says_what_a_launcher_started) {
  const std::string text = paragraph(text_report(sample_jobs::fork_storm(), kStyle), "Main thread");
  EXPECT_THAT(text, HasSubstr("bash (pid 900) only started others and waited for them"));
}

TEST(TextReport, folds_threads_and_cores_that_are_many) {
  Snapshot s;
  s.job.cpus = 512;
  s.job.elapsed = seconds(10);
  for (uint32_t i = 0; i < 400; ++i)
    s.threads.push_back(
        thread({1, 2 + i, std::string(1 + i % 26, static_cast<char>('a' + i % 26)), 0, 10},
               {{Reason::cpu_user, 1 + i % 26}}, Reason::futex, {i}));
  const std::string text = text_report(s, kStyle);
  EXPECT_THAT(paragraph(text, "Threads"), HasSubstr("14 more"));
  EXPECT_EQ(lines(paragraph(text, "Threads")).size(), 2U + 12 + 1);
  EXPECT_THAT(text, HasSubstr("400 used of 512"));
  EXPECT_THAT(text, HasSubstr("never on 400-511"));
}

TEST(TextReport, on_one_cpu) {
  Snapshot s = sample_jobs::empty();
  s.job.cpus = 1;
  EXPECT_THAT(text_report(s, kStyle), HasSubstr("0.6 of 1 core busy"));
}

TEST(TextReport, last_line_says_what_jobscope_cost) {
  EXPECT_THAT(text_report(sample_jobs::lenet(), {100, false, true}),
              EndsWith("\njobscope   61.0 ms CPU + 94.0 ms BPF (0.7 % of the job) · "
                       "RSS 14.2 MiB, maps 6.00 MiB · nothing lost\n"));
  EXPECT_THAT(
      text_report(sample_jobs::out_of_memory(), {100, false, true}),
      EndsWith("\njobscope   400 ms CPU, BPF unknown (at least 0.2 % of the job) · "
               "RSS 15.0 MiB, maps 6.00 MiB\n           12 events LOST (exit 9, signal 3)\n"));
  EXPECT_THAT(text_report(sample_jobs::empty(), kStyle), HasSubstr("(the job itself: 1.70 ms)"));
}

TEST(TextReport, names_probes_that_do_not_work) {
  Snapshot s = sample_jobs::lenet();
  s.probes[3] = {"net", ProbeStatus::State::unavailable, ""};
  const std::string text = text_report(s, kStyle);
  EXPECT_THAT(text, HasSubstr("\nnet        unavailable: reason unknown\n"));
  EXPECT_THAT(text, HasSubstr("\nUnknown    network traffic\n"));
}

TEST(TextReport, lets_no_name_write_to_the_terminal) {
  const std::string evil = "\x1b[2J\x1b]0;owned\a\r\n\xff\xe2\x80\xae";
  Snapshot s = sample_jobs::out_of_memory();
  s.job.name = s.job.host = s.job.kernel = evil;
  s.job.argv = {evil, evil};
  for (auto& t : s.threads) t.name += evil;
  for (auto& p : s.processes) p.name += evil, p.killed_by = Killer{9, evil};
  for (auto& kill : s.oom_kills) kill.name = kill.cgroup = evil;
  s.block_io.push_back({evil, evil, true, 1, 1, 1, {}, {}, {}});
  for (auto& file : s.files) file.path += evil;
  s.network.push_back({PeerClass::remote, evil, 1, 1, 1});
  for (auto& use : s.waits) use.target += evil, use.process += evil;
  s.wakers.push_back({17, Reason::futex, 99, 99, evil, seconds(20), 3});
  s.tables.push_back(Table{evil, evil, {evil, evil}, {{evil, evil, evil}, {}}});
  s.probes[0] = {evil, ProbeStatus::State::degraded, evil};
  s.self.lost[evil] = 3;
  for (const TextStyle& style :
       {TextStyle{40, false, true}, {100, false, true}, {100, false, false}}) {
    const std::string text = text_report(s, style);
    for (const char c : text)
      EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= ' ') << int(c);
    EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos);
    EXPECT_EQ(text.find('\xff'), std::string::npos);
    for (const auto& line : lines(text)) EXPECT_LE(columns(line), style.width);
  }
}

TEST(TextReport, of_enormous_names_stays_small) {
  Snapshot s = sample_jobs::lenet();
  s.job.argv.emplace_back(1'000'000, 'a');
  s.job.argv.emplace_back("数据");
  s.threads[0].name = std::string(100'000, 'b');
  s.files[0].path = "/" + std::string(100'000, 'c');
  EXPECT_LT(text_report(s, kStyle).size(), 20'000U);
}

TEST(TextReport, survives_figures_that_cannot_be) {
  for (Snapshot s : all_samples()) {
    const auto most = [](auto&... figures) { ((figures = UINT64_MAX), ...); };
    for (auto& t : s.threads) {
      t.parts.fill(UINT64_MAX / 5);
      for (auto& [core, time] : t.cores) time = UINT64_MAX / 7;
      most(t.migrations, t.yields, t.samples, t.yield_samples, t.minor_faults, t.lifetime);
    }
    for (auto& p : s.processes) p.cpu = UINT64_MAX, p.peak_rss = UINT64_MAX;
    for (auto& io : s.block_io) most(io.bytes, io.sequential, io.latency.max, io.latency.slots[31]);
    for (auto& file : s.files) most(file.wait, file.waits);
    for (auto& use : s.network) most(use.bytes_in, use.bytes_out);
    for (auto& use : s.waits) most(use.wait, use.waits);
    for (auto& use : s.wakers) use.wait = UINT64_MAX, use.waits = 0;
    most(s.runqueue.slots[31], s.runqueue.max, s.self.cpu, s.self.rss, s.self.events_lost);
    s.job.elapsed = 1;
    s.job.started_unix_ns = INT64_MAX;
    EXPECT_FALSE(text_report(s, kStyle).empty());
    s.job.elapsed = UINT64_MAX;
    for (const auto& line : lines(text_report(s, kStyle))) EXPECT_LE(columns(line), 80U) << line;
  }
}

TEST(TextReport, keeps_tables_of_probes_within_bounds) {
  Snapshot s = sample_jobs::lenet();
  s.tables = {{"empty", "", {"a"}, {}}, {"long", "A long one", {"name", "n"}, {}}};
  for (int i = 0; i < 100; ++i)
    s.tables[1].rows.push_back({"row " + std::to_string(i), std::to_string(i)});
  const std::string text = paragraph(text_report(s, kStyle), "A long one");
  EXPECT_EQ(lines(text).size(), 2U + 20 + 1);
  EXPECT_THAT(text, EndsWith("  80 more"));
  EXPECT_THAT(text, HasSubstr("\n  row 9    9\n"));
}

}  // namespace
}  // namespace jobscope
