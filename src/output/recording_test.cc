#include "src/output/recording.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "src/output/json_report.h"
#include "src/output/recording_sqlite.h"
#include "src/output/sample_snapshot_for_test.h"

namespace jobscope {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class RecordingTest : public testing::Test {
 protected:
  RecordingTest() {
    std::string name = (fs::temp_directory_path() / "jobscope_recording_XXXXXX").string();
    directory_ = mkdtemp(name.data());
  }
  ~RecordingTest() override { fs::remove_all(directory_); }

  std::string path(const std::string& name = "run.jobscope") const { return directory_ / name; }

  // A finished recording of `snapshot`.
  std::string record(const Snapshot& snapshot, const std::string& name = "run.jobscope") const {
    auto recording = Recording::create(path(name));
    EXPECT_TRUE(recording) << recording.error().what;
    const Result<> finished = recording->finish(snapshot, sample::findings());
    EXPECT_TRUE(finished) << finished.error().what;
    return path(name);
  }

  // One line of text per row, its columns separated by '|', as the sqlite3 shell prints them.
  static std::vector<std::string> query(const std::string& path, const std::string& sql) {
    auto database = Database::open(path, SQLITE_OPEN_READONLY, nullptr, "test");
    auto statement = database->prepare(sql);
    if (!statement) return {statement.error().what};
    std::vector<std::string> lines;
    while (statement->step().value_or(false)) {
      std::string& line = lines.emplace_back();
      for (int i = 0; i < sqlite3_column_count(statement->get()); ++i) {
        const auto* text = sqlite3_column_text(statement->get(), i);
        line += (i > 0 ? "|" : "") +
                std::string(text != nullptr ? reinterpret_cast<const char*>(text) : "");
      }
    }
    return lines;
  }

  fs::path directory_;
};

std::string why(const auto& result) { return result ? "no error" : result.error().what; }

TEST_F(RecordingTest, gives_back_every_field) {
  const Snapshot original = sample::full();
  const auto copy = read_recording(record(original));
  ASSERT_TRUE(copy) << why(copy);
  EXPECT_TRUE(sample::same(original.job, copy->job));
  EXPECT_TRUE(sample::same(original.threads, copy->threads));
  EXPECT_TRUE(sample::same(original.processes, copy->processes));
  EXPECT_TRUE(sample::same(original.oom_kills, copy->oom_kills));
  EXPECT_TRUE(sample::same(original.block_io, copy->block_io));
  EXPECT_TRUE(sample::same(original.files, copy->files));
  EXPECT_TRUE(sample::same(original.network, copy->network));
  EXPECT_TRUE(sample::same(original.waits, copy->waits));
  EXPECT_TRUE(sample::same(original.wakers, copy->wakers));
  EXPECT_TRUE(sample::same(original.runqueue, copy->runqueue));
  EXPECT_TRUE(sample::same(original.cgroup, copy->cgroup));
  EXPECT_TRUE(sample::same(original.tables, copy->tables));
  EXPECT_TRUE(sample::same(original.probes, copy->probes));
  EXPECT_TRUE(sample::same(original.self, copy->self));
  EXPECT_TRUE(sample::same(original, *copy));
}

TEST_F(RecordingTest, gives_back_an_empty_snapshot) {
  const auto copy = read_recording(record(Snapshot{}));
  ASSERT_TRUE(copy) << why(copy);
  EXPECT_TRUE(sample::same(Snapshot{}, *copy));
}

TEST_F(RecordingTest, gives_back_a_large_job_and_the_same_report) {
  const Snapshot original = sample::big(300, 1000);
  const auto copy = read_recording(record(original));
  ASSERT_TRUE(copy) << why(copy);
  EXPECT_TRUE(sample::same(original, *copy));
  EXPECT_EQ(json_report(original, {}), json_report(*copy, {}));
}

TEST_F(RecordingTest, of_equal_runs_are_equal_files) {
  EXPECT_EQ(read_file(record(sample::full(), "a")), read_file(record(sample::full(), "b")));
}

TEST_F(RecordingTest, counts_beyond_sqlite_become_its_largest) {
  Snapshot snapshot;
  snapshot.self.map_bytes = UINT64_MAX;
  const auto copy = read_recording(record(snapshot));
  ASSERT_TRUE(copy) << why(copy);
  EXPECT_EQ(copy->self.map_bytes, uint64_t{INT64_MAX});
}

TEST_F(RecordingTest, takes_any_file_name) {
  for (const char* name :
       {"a b?c=d%20e#f&g", "file:x?mode=memory", ":memory:", "ütf", "it's \"x\""})
    EXPECT_TRUE(read_recording(record(sample::full(), name))) << name;
  const fs::path before = fs::current_path();
  fs::current_path(directory_);
  for (const char* name : {":memory:", "file:y?mode=memory", "-o"}) {
    fs::remove(name);
    auto recording = Recording::create(name);
    ASSERT_TRUE(recording) << why(recording);
    EXPECT_TRUE(recording->finish(sample::full(), {}));
    EXPECT_TRUE(fs::exists(name)) << name;
    EXPECT_TRUE(read_recording(name)) << name;
  }
  fs::current_path(before);
}

TEST_F(RecordingTest, leaves_nothing_beside_it) {
  auto recording = Recording::create(path());
  ASSERT_TRUE(recording->add_interval(sample::full()));
  ASSERT_TRUE(recording->finish(sample::big(300, 3000), {}));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), fs::directory_iterator{}), 1);
}

TEST_F(RecordingTest, intervals_are_cumulative_and_the_view_gives_each_alone) {
  auto recording = Recording::create(path());
  Snapshot snapshot;
  snapshot.threads.resize(2);
  const auto tick = [&](Nanoseconds at, Nanoseconds user, Nanoseconds futex) {
    snapshot.job.elapsed = at;
    for (ThreadUse& thread : snapshot.threads) {
      part(thread.parts, Reason::cpu_user) = user;
      part(thread.parts, Reason::futex) = futex;
    }
  };
  tick(100, 40, 0);
  ASSERT_TRUE(recording->add_interval(snapshot));
  tick(200, 50, 35);
  ASSERT_TRUE(recording->add_interval(snapshot));
  ASSERT_TRUE(recording->add_interval(snapshot));  // the same moment twice is one interval
  tick(250, 51, 40);
  ASSERT_TRUE(recording->finish(snapshot, {}));
  EXPECT_THAT(query(path(), "SELECT * FROM intervals"),
              ElementsAre("100|cpu_user|80", "200|cpu_user|100", "200|futex|70", "250|cpu_user|102",
                          "250|futex|80"));
  EXPECT_THAT(query(path(), "SELECT * FROM interval_parts"),
              ElementsAre("100|cpu_user|80", "200|cpu_user|20", "200|futex|70", "250|cpu_user|2",
                          "250|futex|10"));
}

TEST_F(RecordingTest, views_answer_what_people_ask) {
  record(sample::full());
  EXPECT_THAT(query(path(), "SELECT * FROM main_thread_parts LIMIT 2"),
              ElementsAre("futex|8000000000|40.0", "cpu_user|7000000000|35.0"));
  EXPECT_THAT(query(path(), "SELECT * FROM job_parts LIMIT 1"),
              ElementsAre("poll|59000000000|74.68"));
  EXPECT_THAT(query(path(),
                    "SELECT name, threads, cpu_ns, no_cpu_ns, blocked_ns "
                    "FROM thread_groups"),
              ElementsAre("python3|1|8000000000|1500000000|10500000000",
                          "grpc \xf0\x9f\x90\xa2|3000|1|0|59000000000", "|1|0|0|0"));
  EXPECT_THAT(query(path(), "SELECT * FROM core_times"),
              ElementsAre("0|6000000000|1", "1|2000000001|2", "130|0|1"));
  EXPECT_THAT(query(path(), "SELECT pid, command, exit_code, signal FROM commands"),
              ElementsAre("4100|python3 train it.py||9", "4200|sh||", "4201|/bin/true|0|",
                          "4202|id -u|1|"));
  EXPECT_THAT(query(path(), "SELECT * FROM latencies WHERE name IN ('queue', 'runqueue')"),
              ElementsAre("|||runqueue|0|2|700", "|||runqueue|8|16|1300",
                          "|||runqueue|4096|8192|104", "vda|read|1|queue|0|2|23"));
  EXPECT_THAT(query(path(), "SELECT line FROM table_lines WHERE name = 'faults' LIMIT 4"),
              ElementsAre("/usr/lib/libtorch.so | 20", "", "[heap]", "a | b | c"));
  EXPECT_THAT(query(path(), "SELECT finding, share FROM findings"),
              ElementsAre("oom_killed|1.0", "spinning|0.123456789"));
}

TEST_F(RecordingTest, bytes_that_are_not_utf8_are_blobs) {
  record(sample::full());
  EXPECT_THAT(query(path(), "SELECT id, typeof(path), hex(path) FROM files WHERE id = 3"),
              ElementsAre("3|blob|2F646174612F636166E9"));
}

TEST_F(RecordingTest, says_its_format_in_the_header) {
  record(sample::full());
  EXPECT_THAT(query(path(), "PRAGMA application_id"), ElementsAre("1785946992"));
  EXPECT_THAT(query(path(), "PRAGMA user_version"), ElementsAre("1"));
  EXPECT_THAT(query(path(), "PRAGMA integrity_check"), ElementsAre("ok"));
  EXPECT_THAT(query(path(), "PRAGMA foreign_key_check"), ElementsAre());
}

TEST_F(RecordingTest, replaces_an_earlier_recording_and_an_empty_file) {
  record(sample::big(300, 3000));
  write_file(path("empty"), "");
  EXPECT_TRUE(sample::same(*read_recording(record(sample::full())), sample::full()));
  EXPECT_TRUE(sample::same(*read_recording(record(sample::full(), "empty")), sample::full()));
  EXPECT_EQ(fs::file_size(path()), fs::file_size(path("empty")));
}

TEST_F(RecordingTest, leaves_what_is_not_a_recording_alone) {
  write_file(path("train.py"), "import torch\n");
  auto other =
      Database::open(path("other.db"), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr, "test");
  ASSERT_TRUE(other->run("CREATE TABLE precious(x)"));
  for (const char* name : {"train.py", "other.db"}) {
    const std::string before = read_file(path(name));
    const auto recording = Recording::create(path(name));
    EXPECT_THAT(why(recording), EndsWith("it is not a recording of jobscope, so it is not "
                                         "overwritten"));
    EXPECT_FALSE(recording.error().hint.empty());
    EXPECT_EQ(read_file(path(name)), before);
  }
}

TEST_F(RecordingTest, says_why_a_file_cannot_be_written) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(why(Recording::create("")), "cannot write a recording: the file name is empty");
  for (const std::string& name :
       {std::string("/dev/full"), std::string("/dev/null"), directory_.string(), path("fifo")})
    EXPECT_EQ(why(Recording::create(name)), "cannot write " + name + ": it is not a regular file");
  EXPECT_EQ(why(Recording::create(path("no/such/dir"))),
            "cannot write " + path("no/such/dir") + ": No such file or directory");
  EXPECT_EQ(why(Recording::create(path(std::string(300, 'x')))),
            "cannot write " + path(std::string(300, 'x')) + ": File name too long");
  std::string deep = path();
  fs::path below = directory_;
  for (int i = 0; i < 4; ++i) below /= std::string(200, 'd');
  fs::create_directories(below);
  const auto too_deep = Recording::create(below / "x");
  EXPECT_THAT(why(too_deep), EndsWith("the path is too long"));
  EXPECT_FALSE(fs::exists(below / "x"));
}

TEST_F(RecordingTest, of_a_run_that_did_not_end_is_recognised) {
  auto recording = Recording::create(path());
  ASSERT_TRUE(recording->add_interval(sample::full()));
  EXPECT_THAT(why(read_recording(path())), EndsWith("its run has not ended yet"));
  EXPECT_THAT(why(Recording::create(path())), EndsWith("another jobscope is using it"));
  { const Recording gone = std::move(*recording); }
  EXPECT_THAT(why(read_recording(path())), HasSubstr("of a run that did not end"));
  EXPECT_FALSE(query(path(), "SELECT * FROM interval_parts").empty());
  record(sample::full());
  EXPECT_TRUE(read_recording(path()));
}

TEST_F(RecordingTest, a_reader_of_the_file_never_blocks_the_writer) {
  auto recording = Recording::create(path());
  auto reader = Database::open(path(), SQLITE_OPEN_READWRITE, nullptr, "test");
  ASSERT_TRUE(reader->run("BEGIN EXCLUSIVE"));
  EXPECT_TRUE(recording->add_interval(sample::full()));
}

TEST_F(RecordingTest, a_file_removed_while_the_job_runs_is_an_error) {
  auto recording = Recording::create(path());
  fs::remove(path());
  EXPECT_THAT(why(recording->finish(sample::full(), {})), HasSubstr("was removed"));
}

TEST_F(RecordingTest, finish_succeeds_once) {
  auto recording = Recording::create(path());
  EXPECT_TRUE(recording->finish(sample::full(), {}));
  EXPECT_FALSE(recording->finish(sample::full(), {}));
  EXPECT_TRUE(sample::same(*read_recording(path()), sample::full()));
}

// The file may grow to `limit` bytes, as with `ulimit -f`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(uint64_t limit) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{limit, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, SIG_DFL);
  }

 private:
  rlimit before_{};
};

TEST_F(RecordingTest, no_space_at_any_point_is_an_error_and_can_be_made_good) {
  const Snapshot snapshot = sample::big(100, 300);
  const uint64_t size = fs::file_size(record(snapshot, "whole"));
  int failed_begin = 0, failed_finish = 0;
  for (uint64_t limit = 0; limit < size; limit += 8192 - 100) {
    auto recording = Recording::create(path());
    ASSERT_TRUE(recording) << why(recording);
    {
      const FileSizeLimit limited(limit);
      const Result<> finished = recording->finish(snapshot, {});
      ASSERT_FALSE(finished);
      EXPECT_THAT(finished.error().what, EndsWith("File too large"));
      EXPECT_FALSE(finished.error().hint.empty());
    }
    const bool begun = fs::file_size(path()) > 0;
    ++(begun ? failed_finish : failed_begin);
    if (!begun && limit % 3 != 0) {
      recording = fail("let go");
      EXPECT_FALSE(fs::exists(path()));  // nothing is left of a recording that never began
      continue;
    }
    if (limit % 3 == 0) {
      EXPECT_TRUE(recording->finish(snapshot, sample::findings()));
      EXPECT_EQ(read_file(path()), read_file(path("whole")));
    } else {
      recording = fail("let go");
      EXPECT_THAT(why(read_recording(path())), HasSubstr("of a run that did not end"));
    }
    fs::remove(path());
  }
  EXPECT_GT(failed_begin, 5);
  EXPECT_GT(failed_finish, 5);
}

// In a process of its own, with file systems of its own: 0 if all that are too small gave an error.
int record_on_full_disk(const std::string& directory, const Snapshot& snapshot, uint64_t needed) {
  for (uint64_t size = 4096; size < needed; size += 3 * 4096) {
    const std::string option = "size=" + std::to_string(size);
    if (mount("tmpfs", directory.c_str(), "tmpfs", 0, option.c_str()) != 0) return 2;
    {
      auto recording = Recording::create(directory + "/x");
      const Result<> done =
          recording ? recording->finish(snapshot, {}) : tl::unexpected(recording.error());
      if (done || !done.error().what.ends_with("No space left on device")) return 1;
    }
    if (umount(directory.c_str()) != 0) return 3;
  }
  return 0;
}

TEST_F(RecordingTest, a_full_disk_is_an_error) {
  const Snapshot snapshot = sample::big(100, 300);
  const uint64_t needed = fs::file_size(record(snapshot));
  const pid_t child = fork();
  if (child == 0) {
    const bool own = unshare(CLONE_NEWNS) == 0 &&
                     mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    _exit(own ? record_on_full_disk(directory_, snapshot, needed) : 77);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
    GTEST_SKIP() << "a small file system to fill cannot be mounted here: root may, as a rule";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace jobscope
