#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "src/output/report_sections.h"

namespace jobscope {
namespace {

constexpr size_t kFiles = 5, kPeers = 5, kCommands = 5;
constexpr size_t kTableRows = 20;
constexpr auto kRight = Column::Align::right;

std::string bytes_or_unknown(const std::optional<uint64_t>& bytes) {
  return bytes ? human_bytes(*bytes) : "unknown";
}

std::string plural(uint64_t n, const char* one, const char* many) {
  return human_count(n) + " " + (n == 1 ? one : many);
}

std::string_view words(PeerClass peer) {
  switch (peer) {
    case PeerClass::loopback: return "loopback";
    case PeerClass::unix_socket: return "unix sockets";
    case PeerClass::remote: return "remote";
  }
  return "other";
}

void add(NetworkUse& to, const NetworkUse& from) {
  to.bytes_in += from.bytes_in;
  to.bytes_out += from.bytes_out;
  if (from.retransmits) to.retransmits = to.retransmits.value_or(0) + *from.retransmits;
}

}  // namespace

void add_block_io(const Subject& subject, Page& page) {
  std::vector<const BlockIo*> lines;
  bool uncharged = false;
  for (const auto& io : subject.snapshot.block_io) {
    if (io.count == 0) continue;
    lines.push_back(&io);
    uncharged = uncharged || !io.charged;
  }
  if (lines.empty()) return;
  std::sort(lines.begin(), lines.end(), [](const BlockIo* a, const BlockIo* b) {
    return std::tuple(a->device, !a->charged, ~a->bytes, a->operation, a->count) <
           std::tuple(b->device, !b->charged, ~b->bytes, b->operation, b->count);
  });
  page.section("Block I/O");
  TextTable table({{.heading = "device", .least = 6},
                   {.heading = "operation", .least = 8},
                   {.heading = "count", .align = kRight, .drop = 2},
                   {.heading = "bytes", .align = kRight},
                   {.heading = "p50", .align = kRight, .drop = 3},
                   {.heading = "p99", .align = kRight},
                   {.heading = "max", .align = kRight, .drop = 4},
                   {.heading = "queue", .align = kRight, .drop = 6},
                   {.heading = "seq", .align = kRight, .drop = 5}});
  for (const auto* io : lines) {
    const uint64_t queue = io->queue.sum, whole = queue + io->device_time.sum;
    const bool timed = io->latency.count() > 0;
    const auto time = [&](double us) { return timed ? human_micros(us) : std::string("unknown"); };
    table.row({io->device, io->operation + (io->charged ? "" : " *"), human_count(io->count),
               io->bytes > 0 ? human_bytes(io->bytes) : "", time(io->latency.quantile(0.5)),
               time(io->latency.quantile(0.99)), time(static_cast<double>(io->latency.max)),
               whole > 0 ? human_percent(share_of(queue, whole)) : "unknown",
               io->bytes > 0 ? human_percent(share_of(io->sequential, io->count)) : ""});
  }
  page.table(table);
  if (uncharged)
    page.paragraph(
        "write-back and other work of the kernel's own threads, which no task can be "
        "charged with; other jobs' may be among it.",
        2, Colour::dim, "* ");
}

void add_files(const Subject& subject, Page& page) {
  std::vector<const FileUse*> files;
  bool read = false, written = false;
  for (const auto& file : subject.snapshot.files) {
    if (file.wait == 0) continue;
    files.push_back(&file);
    read = read || file.bytes_read;
    written = written || file.bytes_written;
  }
  if (files.empty()) return;
  std::sort(files.begin(), files.end(), [](const FileUse* a, const FileUse* b) {
    return std::tuple(~a->wait, a->path, a->waits, a->files) <
           std::tuple(~b->wait, b->path, b->waits, b->files);
  });
  page.section("Files waited for");
  TextTable table({{.heading = "path", .least = 16},
                   {.heading = "time", .align = kRight},
                   {.heading = "waits", .align = kRight, .drop = 2},
                   {.heading = "faults", .align = kRight, .drop = 3},
                   {.heading = "read", .align = kRight, .drop = 4},
                   {.heading = "written", .align = kRight, .drop = 5}});
  const size_t shown = files.size() <= kFiles + 1 ? files.size() : kFiles;
  FileUse rest;
  for (size_t i = 0; i < files.size(); ++i) {
    const auto& file = *files[i];
    if (i >= shown) {
      rest.wait += file.wait;
      rest.waits += file.waits;
      rest.faults += file.faults;
      rest.files += file.files;
      continue;
    }
    std::string path = file.path.empty() ? "(path unknown)" : file.path;
    if (file.files > 1) path += fmt::format(" ({} files)", human_count(file.files));
    table.row({path, human_time(file.wait), human_count(file.waits),
               file.faults > 0 ? human_count(file.faults) : "",
               read ? bytes_or_unknown(file.bytes_read) : "",
               written ? bytes_or_unknown(file.bytes_written) : ""});
  }
  if (shown < files.size())
    table.row({fmt::format("{} more", human_count(rest.files - 1)), human_time(rest.wait),
               human_count(rest.waits), rest.faults > 0 ? human_count(rest.faults) : ""});
  page.table(table);
}

void add_network(const Subject& subject, Page& page) {
  std::map<PeerClass, NetworkUse> totals;  // a class's own line, else the sum of its peers
  std::map<PeerClass, NetworkUse> sums;
  std::vector<NetworkUse> peers;
  for (const auto& use : subject.snapshot.network) {
    add(use.address.empty() ? totals[use.peer] : sums[use.peer], use);
    if (use.peer == PeerClass::remote && !use.address.empty()) peers.push_back(use);
  }
  for (const auto& [peer, use] : sums) totals.try_emplace(peer, use);
  std::erase_if(totals, [](const auto& entry) {
    return entry.second.bytes_in + entry.second.bytes_out + entry.second.retransmits.value_or(0) ==
           0;
  });
  if (totals.empty()) return;
  std::sort(peers.begin(), peers.end(), [](const NetworkUse& a, const NetworkUse& b) {
    return std::tuple(~(a.bytes_in + a.bytes_out), a.address) <
           std::tuple(~(b.bytes_in + b.bytes_out), b.address);
  });
  page.section("Network");
  TextTable table({{.heading = "peer", .least = 16},
                   {.heading = "received", .align = kRight},
                   {.heading = "sent", .align = kRight},
                   {.heading = "retransmits", .align = kRight, .drop = 1}});
  const auto row = [&](const std::string& name, const NetworkUse& use) {
    const bool tcp = use.peer != PeerClass::unix_socket;
    table.row({name, human_bytes(use.bytes_in), human_bytes(use.bytes_out),
               use.retransmits ? human_count(*use.retransmits)
               : tcp           ? "unknown"
                               : ""});
  };
  for (auto& [peer, use] : totals) {
    use.peer = peer;
    row(std::string(words(peer)), use);
    if (peer != PeerClass::remote) continue;
    for (size_t i = 0; i < std::min(kPeers, peers.size()); ++i)
      row("  " + peers[i].address, peers[i]);
    if (peers.size() <= kPeers) continue;
    NetworkUse rest{PeerClass::remote, {}, 0, 0, {}};
    for (size_t i = kPeers; i < peers.size(); ++i) add(rest, peers[i]);
    row(fmt::format("  {} more", peers.size() - kPeers), rest);
  }
  page.table(table);
}

void add_processes(const Subject& subject, Page& page) {
  const auto& snapshot = subject.snapshot;
  if (snapshot.processes.empty()) {
    page.fact("Processes", {"unknown"});
    return;
  }
  const auto brief = short_lived(snapshot);
  std::string names;
  for (size_t i = 0; i < std::min(kCommands, brief.commands.size()); ++i) {
    const auto& [name, count] = brief.commands[i];
    names +=
        fmt::format("{}{}{}", i > 0 ? ", " : "", name, count > 1 ? " ×" + human_count(count) : "");
  }
  if (brief.commands.size() > kCommands)
    names += fmt::format(", {} more", brief.commands.size() - kCommands);
  std::vector<std::string> parts = {human_count(subject.totals.processes) + " in all"};
  if (brief.count == 0) {
    parts.emplace_back("none ended within 1 s of its start");
  } else {
    parts.push_back(fmt::format("{} lived < 1 s, with {} of CPU ({} of the job's)",
                                human_count(brief.count), human_time(brief.cpu),
                                human_percent(share_of(brief.cpu, subject.totals.cpu))));
    parts.push_back(names);
  }
  page.fact("Processes", parts);
}

void add_memory(const Subject& subject, Page& page) {
  const auto& snapshot = subject.snapshot;
  const ProcessUse* largest = nullptr;
  for (const auto& process : snapshot.processes) {
    if (!process.peak_rss) continue;
    const auto key = [](const ProcessUse& p) { return std::tuple(*p.peak_rss, ~p.start, ~p.pid); };
    if (largest == nullptr || key(process) > key(*largest)) largest = &process;
  }
  std::vector<std::string> parts;
  if (largest == nullptr)
    parts.emplace_back("peak unknown");
  else
    parts.push_back(fmt::format("peak {} in {}", human_bytes(*largest->peak_rss), largest->name) +
                    (largest->pid != 0 ? fmt::format(" (pid {})", largest->pid) : ""));
  if (snapshot.cgroup && snapshot.cgroup->memory_limit)
    parts.push_back("limit " + human_bytes(*snapshot.cgroup->memory_limit));
  const auto& totals = subject.totals;
  if (totals.minor_faults > 0)  // no program runs without any
    parts.push_back(fmt::format(
        "{}, {} from disk", plural(totals.minor_faults + totals.major_faults, "fault", "faults"),
        human_count(totals.major_faults)));
  else
    parts.emplace_back("faults unknown");
  page.fact("Memory", parts);

  std::vector<const OomKill*> kills;
  for (const auto& kill : snapshot.oom_kills) kills.push_back(&kill);
  std::sort(kills.begin(), kills.end(), [](const OomKill* a, const OomKill* b) {
    return std::tuple(a->at, a->pid) < std::tuple(b->at, b->pid);
  });
  constexpr size_t kKills = 5;
  for (size_t i = 0; i < std::min(kKills, kills.size()); ++i) {
    const auto& kill = *kills[i];
    page.fact(i == 0 ? "OOM kills" : "",
              {fmt::format("{} (pid {})", kill.name, kill.pid),
               kill.cgroup.empty() ? "the machine was out of memory" : kill.cgroup,
               kill.cgroup.empty() ? "" : "limit " + bytes_or_unknown(kill.limit)},
              Colour::red);
  }
  if (kills.size() > kKills) page.fact("", {fmt::format("{} more", kills.size() - kKills)});
}

void add_absent(const Subject& subject, Page& page) {
  const auto& snapshot = subject.snapshot;
  const auto waited = [](const auto& file) { return file.wait > 0; };
  const struct {
    const char* probe;
    const char* what;
    bool seen;
  } kinds[] = {
      {"blockio", "block I/O", !snapshot.block_io.empty()},
      {"files", "waits for files",
       std::any_of(snapshot.files.begin(), snapshot.files.end(), waited)},
      {"net", "network traffic", !snapshot.network.empty()},
  };
  std::vector<std::string> none, unknown;
  for (const auto& kind : kinds)
    if (!kind.seen) (subject.watched(kind.probe) ? none : unknown).emplace_back(kind.what);
  page.fact("None of", none);
  page.fact("Unknown", unknown, Colour::yellow);
}

void add_tables(const Subject& subject, Page& page) {
  for (const auto& table : subject.snapshot.tables) {
    if (table.rows.empty()) continue;
    std::string title = table.title.empty() ? table.name : table.title;
    if (!title.empty() && title[0] >= 'a' && title[0] <= 'z')
      title[0] = static_cast<char>(title[0] - 'a' + 'A');
    page.section(title);
    // A column of figures only is aligned to the right.
    std::vector<Column> columns;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      const bool figures = std::all_of(table.rows.begin(), table.rows.end(), [i](const auto& row) {
        return i >= row.size() || row[i].empty() || (row[i][0] >= '0' && row[i][0] <= '9');
      });
      Column column{.heading = table.columns[i]};
      if (figures)
        column.align = kRight;
      else
        column.least = 8;
      column.drop = static_cast<int>(i);
      columns.push_back(std::move(column));
    }
    TextTable text(std::move(columns));
    for (size_t i = 0; i < std::min(kTableRows, table.rows.size()); ++i)
      text.row({table.rows[i].begin(), table.rows[i].end()});
    page.table(text);
    if (table.rows.size() > kTableRows)
      page.paragraph(fmt::format("{} more", human_count(table.rows.size() - kTableRows)));
  }
}

}  // namespace jobscope
