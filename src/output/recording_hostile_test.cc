// Files that are no recording, or one that somebody changed: one clear Error, whatever they hold.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "src/output/json_report.h"
#include "src/output/recording.h"
#include "src/output/recording_sqlite.h"
#include "src/output/sample_snapshot_for_test.h"

namespace jobscope {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class HostileRecordingTest : public testing::Test {
 protected:
  HostileRecordingTest() {
    std::string name = (fs::temp_directory_path() / "jobscope_hostile_XXXXXX").string();
    directory_ = mkdtemp(name.data());
    path_ = (directory_ / "x").string();
    auto recording = Recording::create(path_);
    EXPECT_TRUE(recording && recording->finish(sample::full(), sample::findings()));
    std::ifstream file(path_, std::ios::binary);
    valid_.assign(std::istreambuf_iterator<char>(file), {});
  }
  ~HostileRecordingTest() override { fs::remove_all(directory_); }

  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

  // What reading the file says, without the words that all errors begin with.
  std::string why() const {
    const auto snapshot = read_recording(path_);
    if (!snapshot) {
      const std::string begin = "cannot read " + path_ + ": ";
      EXPECT_THAT(snapshot.error().what, StartsWith(begin));
      EXPECT_EQ(snapshot.error().what.find('\n'), std::string::npos);
      return snapshot.error().what.substr(std::min(begin.size(), snapshot.error().what.size()));
    }
    return "no error";
  }

  // The same of a recording that was changed by `sql`.
  std::string why_after(const std::string& sql) const {
    write(valid_);
    auto database = Database::open(path_, SQLITE_OPEN_READWRITE, nullptr, "test");
    const Result<> done = database->run(sql);
    EXPECT_TRUE(done) << done.error().what;
    database = fail("closed");
    return why();
  }

  fs::path directory_;
  std::string path_;
  std::string valid_;
};

TEST_F(HostileRecordingTest, foreign_files) {
  write("");
  EXPECT_EQ(why(), "the file is empty");
  write("hello\n");
  EXPECT_EQ(why(), "it is not a recording of jobscope");
  write(std::string(5000, '\0'));
  EXPECT_EQ(why(), "it is not a recording of jobscope");
  write(valid_.substr(0, 99));
  EXPECT_EQ(why(), "it is not a recording of jobscope");
  EXPECT_EQ(why_after("PRAGMA application_id=1"), "it is another program's database");
  EXPECT_EQ(why_after("PRAGMA user_version=7"),
            "a newer jobscope made it (format 7; this one reads up to 1)");
  EXPECT_EQ(why_after("PRAGMA user_version=0"), "the file is damaged");
  fs::remove(path_);
  EXPECT_EQ(why(), "No such file or directory");
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(why(), "it is not a regular file");
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_EQ(why(), "it is a directory");
}

TEST_F(HostileRecordingTest, reads_without_any_right_to_write) {
  const bool root = geteuid() == 0;
  fs::permissions(directory_, fs::perms(0555));
  fs::permissions(path_, fs::perms(0444));
  if (root) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  const std::string readable = why();
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  fs::permissions(path_, fs::perms(0000));
  if (root) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  const std::string unreadable = why();
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  fs::permissions(directory_, fs::perms(0755));
  EXPECT_EQ(readable, "no error");
  EXPECT_EQ(unreadable, "Permission denied");
}

TEST_F(HostileRecordingTest, cut_short_anywhere) {
  for (size_t size = 100; size < valid_.size(); size += 1031) {
    write(valid_.substr(0, size));
    EXPECT_THAT(why(), HasSubstr("the file is damaged")) << size;
  }
}

TEST_F(HostileRecordingTest, values_that_are_not_possible) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"UPDATE threads SET pid = -1", "threads.pid is out of range"},
      {"UPDATE threads SET pid = 4294967296", "threads.pid is out of range"},
      {"UPDATE threads SET pid = 'many'", "threads.pid is not a number"},
      {"UPDATE threads SET lifetime_ns = 1.5", "threads.lifetime_ns is not a number"},
      {"UPDATE threads SET threads = 0", "threads.threads is zero"},
      {"UPDATE threads SET exited = 2", "threads.exited is neither 0 nor 1"},
      {"UPDATE threads SET name = CAST(x'ff' AS TEXT)", "threads.name is not UTF-8"},
      {"UPDATE threads SET name = CAST(x'eda080' AS TEXT)", "threads.name is not UTF-8"},
      {"UPDATE threads SET name = CAST(x'c080' AS TEXT)", "threads.name is not UTF-8"},
      {"UPDATE thread_parts SET ns = -5", "thread_parts.ns is out of range"},
      {"UPDATE thread_parts SET reason = 'tea' WHERE reason = 'poll'",
       "thread_parts.reason is not a reason"},
      {"INSERT INTO thread_parts VALUES(99, 'poll', 1)", "thread_parts.thread is of no row"},
      {"UPDATE cores SET cpu = -1 WHERE cpu = 130", "cores.cpu is out of range"},
      {"UPDATE processes SET exit_code = 99999999999", "processes.exit_code is out of range"},
      {"UPDATE processes SET killed_by_name = NULL", "processes.killed_by is half unknown"},
      {"UPDATE processes SET processes = 0", "processes.processes is zero"},
      {"UPDATE process_arguments SET process = 0 WHERE process = 1 AND position = 0",
       "process_arguments.process is of no row"},
      {"UPDATE histogram_slots SET slot = 99 WHERE slot = 31",
       "histogram_slots.slot is out of range"},
      {"UPDATE histogram_slots SET slot = -1 WHERE slot = 31",
       "histogram_slots.slot is out of range"},
      {"UPDATE histograms SET name = 'x'", "histograms.name is of no row"},
      {"UPDATE histograms SET block_io = 77 WHERE block_io = 1", "histograms.name is of no row"},
      {"UPDATE network SET class = 'carrier pigeon'", "network.class is not a known name"},
      {"UPDATE probes SET state = 3", "probes.state is not a known name"},
      {"UPDATE cgroup SET cpu_limit = 9e999", "cgroup.cpu_limit is out of range"},
      {"UPDATE cgroup SET cpu_limit = -1", "cgroup.cpu_limit is out of range"},
      {"UPDATE cgroup SET cpu_limit = 'much'", "cgroup.cpu_limit is not a number"},
      {"UPDATE waits SET reason = 7", "waits.reason is not a reason"},
      {"UPDATE waits SET target = 5.5; UPDATE waits SET main_thread = -1",
       "waits.main_thread is out of range"},
      {"INSERT INTO table_cells VALUES(9, 0, 0, 'x')", "table_cells.table_id is of no row"},
      {"DELETE FROM job", "job has not one row"},
      {"INSERT INTO self SELECT * FROM self", "self has not one row"},
  };
  for (const auto& [sql, expected] : cases)
    EXPECT_EQ(why_after(sql), "the file is damaged: " + expected) << sql;
}

TEST_F(HostileRecordingTest, tables_that_are_not_ours) {
  EXPECT_EQ(why_after("DROP TABLE waits"), "the file is damaged: no such table: waits");
  EXPECT_EQ(why_after("ALTER TABLE waits RENAME COLUMN pid TO x"),
            "the file is damaged: no such column: pid");
  EXPECT_EQ(why_after("UPDATE recording SET finished = 'x'"),
            "the file is damaged: recording.finished is not a number");
  EXPECT_THAT(why_after("DELETE FROM recording"), HasSubstr("did not end"));
  // A view can have rows without end; none is looked into in the place of a table.
  EXPECT_EQ(why_after("DROP TABLE lost; CREATE VIEW lost AS SELECT name AS what, 1 AS count "
                      "FROM threads"),
            "the file is damaged: access to view \"lost\" prohibited");
  EXPECT_NE(why_after("DROP TABLE lost; CREATE VIEW lost AS WITH RECURSIVE n(count) AS "
                      "(SELECT 1 UNION ALL SELECT count + 1 FROM n) "
                      "SELECT count AS what, count FROM n"),
            "no error");
  // Neither is a table that computes.
  for (const char* table : {"CREATE TABLE lost(what TEXT, count INTEGER AS (length(what)))",
                            "CREATE VIRTUAL TABLE lost USING fts5(what, count)"})
    EXPECT_EQ(why_after("DROP TABLE lost;" + std::string(table)),
              "the file is damaged: it holds a table that jobscope did not make");
  EXPECT_THAT(why_after("INSERT INTO files SELECT 9, printf('%.*c', 20000000, 'x'), 1, 1, 1, 1, "
                        "NULL, NULL"),
              HasSubstr("too big"));
}

TEST_F(HostileRecordingTest, rows_that_somebody_deleted_are_not_missed) {
  EXPECT_EQ(why_after("DELETE FROM process_arguments WHERE process = 2;"
                      "DELETE FROM processes WHERE id = 2; DELETE FROM waits; DELETE FROM cgroup;"
                      "CREATE TABLE notes(text); CREATE INDEX by_name ON threads(name)"),
            "no error");
  const auto snapshot = read_recording(path_);
  EXPECT_EQ(snapshot->processes.size(), 3U);
  EXPECT_EQ(snapshot->processes[2].argv.size(), 2U);
}

// Deterministic, so that what fails once fails always. Nothing to assert but that each answer is
// a snapshot that can be printed, or an Error; sanitizers and a crash say the rest.
TEST_F(HostileRecordingTest, flipped_bytes_never_crash) {
  std::vector<size_t> used;  // flips among the zeros of free space show little
  for (size_t i = 0; i < valid_.size(); ++i)
    if (valid_[i] != 0) used.push_back(i);
  std::mt19937 random(20260917);
  int errors = 0;
  constexpr int kRounds = 400;
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes = valid_;
    for (int flips = static_cast<int>(random() % 4); flips >= 0; --flips)
      bytes[used[random() % used.size()]] = static_cast<char>(random());
    write(bytes);
    const auto snapshot = read_recording(path_);
    if (snapshot)
      EXPECT_FALSE(json_report(*snapshot, {}).empty());
    else
      ++errors;
  }
  EXPECT_GT(errors, kRounds / 10);
}

}  // namespace
}  // namespace jobscope
