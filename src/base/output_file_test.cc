#include "src/base/output_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace jobscope {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Someone who is not root and has no files.
const Identity kStranger = {54321, 54322, {54322}};

class OutputFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("output_file_test." + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    us_ = {::getuid(), ::getgid(), {::getgid()}};
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  static std::string content(const std::string& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder_))
      out.push_back(entry.path().filename());
    std::ranges::sort(out);
    return out;
  }
  Result<> write(const std::string& to, const std::string& text, const Identity& who) {
    auto file = TRY(OutputFile::create(to, who));
    TRY(file.write(text));
    return file.commit();
  }
  std::string failure(const std::string& to, const Identity& who) {
    const auto result = write(to, "text", who);
    return result ? "no failure" : result.error().what;
  }

  fs::path folder_;
  Identity us_;
};

TEST_F(OutputFileTest, AppearsWholeAtCommit) {
  auto file = OutputFile::create(path("a.json"), us_).value();
  ASSERT_TRUE(file.write("one "));
  EXPECT_FALSE(fs::exists(path("a.json")));
  ASSERT_TRUE(file.write("two"));
  ASSERT_TRUE(file.commit());
  EXPECT_EQ(content(path("a.json")), "one two");
  EXPECT_THAT(names(), ElementsAre("a.json"));
}

TEST_F(OutputFileTest, NewFileHasTheModeOfTheUmask) {
  const mode_t old = ::umask(027);
  ASSERT_TRUE(write(path("a"), "x", us_));
  ::umask(old);
  EXPECT_EQ(fs::status(path("a")).permissions(), static_cast<fs::perms>(0640));
}

TEST_F(OutputFileTest, WithoutCommitTheOldFileStays) {
  std::ofstream(path("a.json")) << "old";
  {
    auto file = OutputFile::create(path("a.json"), us_).value();
    ASSERT_TRUE(file.write("new"));
  }
  EXPECT_EQ(content(path("a.json")), "old");
  EXPECT_THAT(names(), ElementsAre("a.json"));
}

TEST_F(OutputFileTest, ReplacesKeepingTheMode) {
  std::ofstream(path("a.json")) << "old and longer";
  fs::permissions(path("a.json"), static_cast<fs::perms>(0604));
  ASSERT_TRUE(write(path("a.json"), "new", us_));
  EXPECT_EQ(content(path("a.json")), "new");
  EXPECT_EQ(fs::status(path("a.json")).permissions(), static_cast<fs::perms>(0604));
}

TEST_F(OutputFileTest, SymlinksStay) {
  std::ofstream(path("real")) << "old";
  fs::create_symlink("real", path("link"));
  fs::create_symlink("made", path("dangling"));
  ASSERT_TRUE(write(path("link"), "new", us_));
  ASSERT_TRUE(write(path("dangling"), "new", us_));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content(path("real")), "new");
  EXPECT_EQ(content(path("made")), "new");
}

TEST_F(OutputFileTest, FilesWithSeveralNamesAreWrittenInPlace) {
  std::ofstream(path("a")) << "old and longer";
  fs::create_hard_link(path("a"), path("b"));
  ASSERT_TRUE(write(path("a"), "new", us_));
  EXPECT_EQ(content(path("b")), "new");
  ASSERT_TRUE(OutputFile::create(path("a"), us_).value().commit());
  EXPECT_EQ(content(path("b")), "");
}

TEST_F(OutputFileTest, DevicesAreWrittenInPlace) {
  EXPECT_TRUE(write("/dev/null", "x", us_));
  EXPECT_EQ(failure("/dev/full", us_), "cannot write /dev/full: No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(OutputFileTest, CommitAfterAFailedWriteFails) {
  auto file = OutputFile::create("/dev/full", us_).value();
  EXPECT_FALSE(file.write("x"));
  EXPECT_FALSE(file.commit());
}

TEST_F(OutputFileTest, Fifos) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(failure(path("fifo"), us_), "cannot write " + path("fifo") + ": nobody reads it");
  const Fd reader(::open(path("fifo").c_str(), O_RDONLY | O_NONBLOCK));
  ASSERT_TRUE(write(path("fifo"), "x", us_));
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
}

TEST_F(OutputFileTest, DescriptorsKeepTheirPlaceInTheFile) {
  const int fd = ::open(path("log").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(::write(fd, "before ", 7), 7);
  ASSERT_TRUE(write("/dev/fd/" + std::to_string(fd), "after", us_));
  EXPECT_EQ(::write(fd, ".", 1), 1);
  EXPECT_EQ(content(path("log")), "before after.");
  EXPECT_THAT(names(), ElementsAre("log"));

  const std::string name = "/proc/self/fd/" + std::to_string(fd);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  EXPECT_EQ(failure(name, us_), "cannot write " + name + ": Bad file descriptor");
  ::close(fd);
  EXPECT_EQ(failure(name, us_), "cannot write " + name + ": Bad file descriptor");
}

TEST_F(OutputFileTest, MinusIsStandardOutput) {
  ::fflush(stdout);
  const int saved = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  const Fd log(::open(path("log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ::dup2(log.get(), STDOUT_FILENO);
  const auto one = write("-", "1", us_);
  const auto two = write("/dev/stdout", "2", us_);
  ::close(STDOUT_FILENO);
  const std::string closed = failure("-", us_);
  ::dup2(saved, STDOUT_FILENO);
  ::close(saved);
  EXPECT_TRUE(one && two);
  EXPECT_EQ(content(path("log")), "12");
  EXPECT_EQ(closed, "cannot write standard output: Bad file descriptor");
}

TEST_F(OutputFileTest, WrongPathsAreKnownAtOnce) {
  EXPECT_EQ(failure("", us_), "cannot write : No such file or directory");
  EXPECT_EQ(failure(path("no/a"), us_),
            "cannot write " + path("no/a") + ": No such file or directory");
  EXPECT_EQ(failure(folder_, us_), "cannot write " + folder_.string() + ": Is a directory");
  EXPECT_EQ(failure(path("new/"), us_), "cannot write " + path("new/") + ": Is a directory");
}

TEST_F(OutputFileTest, UnderSudoFilesAreTheCallers) {
  if (::geteuid() != 0) GTEST_SKIP() << "skipped: needs root";
  fs::permissions(folder_, fs::perms::all);
  ASSERT_TRUE(write(path("a"), "x", kStranger));
  struct stat info {};
  ASSERT_EQ(::stat(path("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, kStranger.uid);
  EXPECT_EQ(info.st_gid, kStranger.gid);
  // Back to what we were.
  ASSERT_TRUE(write(path("b"), "x", us_));
  ASSERT_EQ(::stat(path("b").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 0U);
}

TEST_F(OutputFileTest, UnderSudoTheCallersRightsCount) {
  if (::geteuid() != 0) GTEST_SKIP() << "skipped: needs root";
  fs::permissions(folder_, static_cast<fs::perms>(0755));
  EXPECT_EQ(failure(path("a"), kStranger), "cannot write " + path("a") + ": Permission denied");
  EXPECT_THAT(names(), IsEmpty());

  // A symlink of the caller's own, to where only root may write.
  fs::create_directory(path("theirs"));
  ASSERT_EQ(::chown(path("theirs").c_str(), kStranger.uid, kStranger.gid), 0);
  std::ofstream(path("roots")) << "old";
  fs::create_symlink(path("roots"), path("theirs/link"));
  fs::create_symlink(path("new"), path("theirs/dangling"));
  EXPECT_EQ(failure(path("theirs/link"), kStranger),
            "cannot write " + path("theirs/link") + ": Permission denied");
  EXPECT_EQ(failure(path("theirs/dangling"), kStranger),
            "cannot write " + path("theirs/dangling") + ": Permission denied");
  EXPECT_EQ(content(path("roots")), "old");
  EXPECT_THAT(names(), ElementsAre("roots", "theirs"));
}

TEST_F(OutputFileTest, AWritableFileInAnotherPersonsFolderIsWrittenInPlace) {
  if (::geteuid() != 0) GTEST_SKIP() << "skipped: needs root";
  fs::permissions(folder_, static_cast<fs::perms>(0755));
  std::ofstream(path("a")) << "old and longer";
  ASSERT_EQ(::chown(path("a").c_str(), kStranger.uid, kStranger.gid), 0);
  ASSERT_TRUE(write(path("a"), "new", kStranger));
  EXPECT_EQ(content(path("a")), "new");
  // Writable, but not theirs: it keeps its owner.
  std::ofstream(path("b")) << "old and longer";
  fs::permissions(path("b"), static_cast<fs::perms>(0666));
  ASSERT_TRUE(write(path("b"), "new", kStranger));
  struct stat info {};
  ASSERT_EQ(::stat(path("b").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 0U);
}

TEST_F(OutputFileTest, FileCapabilitiesOpenNoDoor) {
  if (::geteuid() != 0) GTEST_SKIP() << "skipped: needs root";
  fs::create_directories(path("secret/inside"));
  fs::permissions(path("secret"), static_cast<fs::perms>(0700));
  fs::permissions(path("secret/inside"), static_cast<fs::perms>(0777));
  const pid_t pid = ::fork();
  if (pid == 0) {
    const Capability keep[] = {CAP_DAC_READ_SEARCH};
    if (!become(kStranger, keep)) ::_exit(2);
    const bool searchable =
        ::access(path("secret/inside/.").c_str(), F_OK) == 0 || has_capability(CAP_DAC_READ_SEARCH);
    const bool refused = !write(path("secret/inside/a"), "x", kStranger).has_value();
    // The capability is back afterwards.
    ::_exit(searchable && refused && has_capability(CAP_DAC_READ_SEARCH) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace jobscope
