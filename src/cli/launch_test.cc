#include "src/cli/launch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace jobscope {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LaunchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("launch_test." + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    options_.caller = this_process(CallerSources::of_this_process());
    options_.signals = SignalState::now();
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::string file(const std::string& name, const std::string& text, int mode) const {
    std::ofstream(path(name), std::ios::binary) << text;
    fs::permissions(path(name), static_cast<fs::perms>(mode));
    return path(name);
  }
  static std::string content(const std::string& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  }
  // Runs it to its end; the wait status.
  int run(std::vector<std::string> argv) {
    options_.argv = std::move(argv);
    Launch launch = Launch::prepare(options_).value();
    const auto released = launch.release();
    EXPECT_TRUE(released.has_value()) << released.error().what;
    int status = -1;
    if (released) ::waitpid(launch.pid(), &status, 0);
    return status;
  }
  // What `script` writes to the file in $OUT.
  std::string output(const std::string& script) {
    options_.caller.environment.push_back("OUT=" + path("out"));
    EXPECT_EQ(run({"sh", "-c", "exec >$OUT; " + script}), 0);
    return content(path("out"));
  }
  Launch::Failure failure(std::vector<std::string> argv) {
    options_.argv = std::move(argv);
    Launch launch = Launch::prepare(options_).value();
    EXPECT_FALSE(launch.release().has_value());
    return launch.failure().value_or(Launch::Failure{});
  }

  fs::path folder_;
  LaunchOptions options_;
};

TEST_F(LaunchTest, WaitsUntilReleasedAndGivesTheExitCode) {
  options_.argv = {"sh", "-c", "echo ran >" + path("out") + "; exit 23"};
  Launch launch = Launch::prepare(options_).value();
  pollfd ended{launch.pidfd(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 50), 0);
  EXPECT_FALSE(fs::exists(path("out")));
  ASSERT_TRUE(launch.release());
  int status = 0;
  EXPECT_EQ(::waitpid(launch.pid(), &status, 0), launch.pid());
  EXPECT_EQ(WEXITSTATUS(status), 23);
  EXPECT_FALSE(launch.failure().has_value());
  EXPECT_EQ(content(path("out")), "ran\n");
}

TEST_F(LaunchTest, NotReleasedItEndsWithoutRunning) {
  options_.argv = {"touch", path("out")};
  pid_t pid = 0;
  {
    const Launch launch = Launch::prepare(options_).value();
    pid = launch.pid();
  }
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_FALSE(fs::exists(path("out")));
}

TEST_F(LaunchTest, EndsWithoutRunningIfWeAreKilledBeforeRelease) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // so that we can wait for the orphan
  int pair[2];
  ASSERT_EQ(::pipe(pair), 0);
  options_.argv = {"touch", path("out")};
  const pid_t pid = ::fork();
  if (pid == 0) {
    const Launch launch = Launch::prepare(options_).value();
    const pid_t child = launch.pid();
    if (::write(pair[1], &child, sizeof child) != sizeof child) ::_exit(1);
    ::pause();
  }
  pid_t child = 0;
  ASSERT_EQ(::read(pair[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(fs::exists(path("out")));
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  ::close(pair[0]);
  ::close(pair[1]);
}

TEST_F(LaunchTest, NoSuchCommandIs127) {
  const auto by_path = failure({"/no/such/command"});
  EXPECT_EQ(by_path.error.what, "/no/such/command: No such file or directory");
  EXPECT_EQ(by_path.error.code, ENOENT);
  EXPECT_EQ(by_path.exit_code, 127);
  EXPECT_EQ(failure({"no-such-command"}).exit_code, 127);
  EXPECT_EQ(failure({""}).exit_code, 127);
  const auto no_interpreter = failure({file("script", "#!/no/such/python\n", 0755)});
  EXPECT_EQ(no_interpreter.exit_code, 127);
  EXPECT_THAT(no_interpreter.error.hint, HasSubstr("interpreter"));
}

TEST_F(LaunchTest, NotExecutableIs126) {
  const auto plain = failure({file("plain", "text", 0644)});
  EXPECT_EQ(plain.error.what, path("plain") + ": Permission denied");
  EXPECT_EQ(plain.exit_code, 126);
  EXPECT_EQ(failure({folder_}).error.what, folder_.string() + ": Is a directory");
  EXPECT_EQ(failure({folder_}).exit_code, 126);
  const auto garbage = failure({file("garbage", std::string("\x7f\0\1\2", 4), 0755)});
  EXPECT_EQ(garbage.error.what, path("garbage") + ": Exec format error");
  EXPECT_EQ(garbage.exit_code, 126);
}

TEST_F(LaunchTest, ScriptsWithoutInterpreterGoToTheShell) {
  EXPECT_EQ(WEXITSTATUS(run({file("script", "exit $(($1 + $#))\n", 0755), "5", "6"})), 7);
}

TEST_F(LaunchTest, SearchesThePathOfTheCaller) {
  fs::create_directories(path("a/tool"));
  fs::create_directories(path("b"));
  fs::create_directories(path("c"));
  file("b/tool", "#!/bin/sh\nexit 1\n", 0644);
  file("c/tool", "#!/bin/sh\nexit 3\n", 0755);
  options_.caller.environment = {"PATH=/no:" + path("a") + ":" + path("b") + ":" + path("c")};
  EXPECT_EQ(WEXITSTATUS(run({"tool"})), 3);
  options_.caller.environment = {"PATH=" + path("b") + ":/no"};
  EXPECT_EQ(failure({"tool"}).exit_code, 126);
  options_.caller.environment = {};
  EXPECT_EQ(run({"true"}), 0);
}

TEST_F(LaunchTest, CandidatesAsInAShell) {
  EXPECT_THAT(candidates("./x", "/a:/b"), ElementsAre("./x"));
  EXPECT_THAT(candidates("x", "/a::/b:"), ElementsAre("/a/x", "x", "/b/x", "x"));
  EXPECT_THAT(candidates("x", ""), ElementsAre("x"));
  EXPECT_THAT(candidates("", "/a"), IsEmpty());
}

TEST_F(LaunchTest, GetsExactlyTheCallersEnvironment) {
  options_.caller.environment = {"PATH=/usr/bin:/bin", "A=1", "ODD"};
  EXPECT_EQ(output("tr '\\0' '\\n' </proc/$$/environ"),
            "PATH=/usr/bin:/bin\nA=1\nODD\nOUT=" + path("out") + "\n");
}

TEST_F(LaunchTest, GetsOnlyTheDescriptorsThatWereHandedToUs) {
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Fd ours(::fcntl(null.get(), F_DUPFD_CLOEXEC, 100));
  const Fd handed(::fcntl(null.get(), F_DUPFD, 100));
  const std::string list = output("for f in /proc/$$/fd/*; do echo \"<${f##*/}>\"; done");
  EXPECT_THAT(list, HasSubstr("<" + std::to_string(handed.get()) + ">"));
  EXPECT_THAT(list, ::testing::Not(HasSubstr("<" + std::to_string(ours.get()) + ">")));
}

TEST_F(LaunchTest, SignalsAreAsTheyWereAtTheStart) {
  const auto field = [this](const std::string& name) {
    return output("grep " + name + " /proc/self/status");
  };
  ::signal(SIGHUP, SIG_IGN);  // nohup
  options_.signals = SignalState::now();
  const std::string ignored = field("SigIgn");
  const std::string blocked = field("SigBlk");
  // What jobscope does for itself
  ::signal(SIGHUP, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, &before);
  EXPECT_EQ(field("SigIgn"), ignored);
  EXPECT_EQ(field("SigBlk"), blocked);
  EXPECT_THAT(ignored, HasSubstr("1\n"));
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
}

TEST_F(LaunchTest, AMegabyteOfArguments) {
  std::vector<std::string> argv = {"sh", "-c", "exit $(($# % 251))", "sh"};
  for (int i = 0; i < 11; ++i) argv.emplace_back(100'000, 'x');
  EXPECT_EQ(WEXITSTATUS(run(argv)), 11);
  argv.emplace_back(200'000, 'x');  // more than one argument may have
  const auto too_long = failure(argv);
  EXPECT_EQ(too_long.error.what, "sh: Argument list too long");
  EXPECT_EQ(too_long.exit_code, 126);
}

TEST_F(LaunchTest, RunsAsTheCallerWithoutCapabilities) {
  if (::geteuid() != 0) GTEST_SKIP() << "skipped: needs root";
  fs::permissions(folder_, fs::perms::all);
  options_.caller.id = {54321, 54322, {54322, 54323}};
  EXPECT_EQ(output("id -u; id -g; id -G; grep -E 'Cap(Prm|Eff|Amb)' /proc/self/status"),
            "54321\n54322\n54322 54323\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
            "CapAmb:\t0000000000000000\n");
}

TEST_F(LaunchTest, AFolderOfPathThatMayNotBeSearchedHoldsNothing) {
  if (::geteuid() != 0) GTEST_SKIP() << "skipped: needs root";
  fs::create_directory(path("secret"));
  fs::permissions(path("secret"), static_cast<fs::perms>(0700));
  options_.caller.id = {54321, 54322, {54322}};
  options_.caller.environment = {"PATH=/no:" + path("secret")};
  EXPECT_EQ(failure({"tool"}).exit_code, 127);
}

TEST_F(LaunchTest, RootStaysRootEvenAfterWeDroppedEverything) {
  if (::geteuid() != 0) GTEST_SKIP() << "skipped: needs root";
  const std::string before = output("grep CapEff /proc/self/status");
  options_.argv = {"sh", "-c", "grep CapEff /proc/self/status >" + path("out")};
  const pid_t pid = ::fork();
  if (pid == 0) {
    Launch launch = Launch::prepare(options_).value();
    if (!drop_all_but({}) || !launch.release()) ::_exit(1);
    ::waitpid(launch.pid(), nullptr, 0);
    ::_exit(0);
  }
  ::waitpid(pid, nullptr, 0);
  EXPECT_EQ(content(path("out")), before);
}

TEST_F(LaunchTest, AnIdentityThatCantBeTakenIs125) {
  if (::geteuid() != 0) GTEST_SKIP() << "skipped: needs root";
  const pid_t pid = ::fork();
  if (pid == 0) {
    options_.caller.id = {54321, 54321, {}};
    options_.caller.name = "ada";
    if (!drop_all_but({})) ::_exit(1);
    const auto refused = failure({"true"});
    ::_exit(refused.exit_code == 125 &&
                    refused.error.what == "cannot run the job as ada: Operation not permitted"
                ? 0
                : 2);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(LaunchTest, ClosedStandardDescriptorsAreHeldAndStayClosedInTheJob) {
  options_.argv = {"sh", "-c",
                   "for f in 0 1 2; do [ -e /proc/$$/fd/$f ] || echo $f; done >" + path("out")};
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(0);
    ::close(2);
    if (!hold_standard_descriptors()) ::_exit(1);
    const Fd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    Launch launch = Launch::prepare(options_).value();
    if (next.get() < 3 || !launch.release()) ::_exit(2);
    ::waitpid(launch.pid(), nullptr, 0);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(content(path("out")), "0\n2\n");
}

}  // namespace
}  // namespace jobscope
