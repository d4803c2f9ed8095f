#include "src/base/caller.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace jobscope {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

// A user without an entry in the user database.
constexpr uid_t kNobodyHere = 54321;

class CallerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    proc_ = ::testing::TempDir() + "caller_test." + std::to_string(::getpid());
    std::filesystem::remove_all(proc_);
    sources_.proc = proc_;
    sources_.parent = 300;
    sources_.id = {0, 0, {0}};
    sources_.environment = {"HOME=/root",       "USER=root",      "LOGNAME=root",
                            "SHELL=/bin/bash",  "PATH=/usr/sbin", "MAIL=/var/mail/root",
                            "SUDO_UID=54321",   "SUDO_GID=54322", "SUDO_USER=ada",
                            "SUDO_COMMAND=x y", "TERM=xterm"};
  }
  void TearDown() override { std::filesystem::remove_all(proc_); }

  void add_process(pid_t pid, pid_t parent, const std::string& comm,
                   const std::vector<std::string>& environment) {
    const std::string folder = proc_ + "/" + std::to_string(pid);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/comm") << comm << "\n";
    std::ofstream(folder + "/status") << "Name:\t" << comm << "\nPPid:\t" << parent << "\n";
    std::ofstream environ_file(folder + "/environ");
    for (const std::string& variable : environment) environ_file << variable << '\0';
  }

  std::string proc_;
  CallerSources sources_;
};

TEST_F(CallerTest, WithoutSudoItIsOurselves) {
  std::erase_if(sources_.environment, [](auto& v) { return v.starts_with("SUDO_"); });
  const Caller caller = find_caller(sources_).value();
  EXPECT_EQ(caller.id.uid, 0U);
  EXPECT_EQ(caller.through, "");
  EXPECT_EQ(caller.environment, sources_.environment);
  EXPECT_EQ(caller.home, "/root");
}

TEST_F(CallerTest, OnlyRootBelievesSudoVariables) {
  sources_.id = {kNobodyHere, 7, {7, 8}};
  sources_.environment.emplace_back("SUDO_UID=0");
  const Caller caller = find_caller(sources_).value();
  EXPECT_EQ(caller.id.uid, kNobodyHere);
  EXPECT_THAT(caller.id.groups, ElementsAre(7, 8));
}

TEST_F(CallerTest, SudoGivesItsOwnEnvironmentBack) {
  add_process(300, 299, "sudo", {"FORGED=no"});
  add_process(
      299, 298, "sudo",
      {"HOME=/home/ada", "USER=ada", "PATH=/home/ada/venv/bin:/usr/bin", "TERM=dumb",
       "LD_LIBRARY_PATH=/opt/cuda", "OMP_NUM_THREADS=8", "XDG_RUNTIME_DIR=/run/user/54321"});
  add_process(298, 1, "bash", {"HOME=/elsewhere"});
  // sudo OMP_NUM_THREADS=2 NEW=x=y jobscope, and what PAM set for root
  sources_.environment.emplace_back("OMP_NUM_THREADS=2");
  sources_.environment.emplace_back("NEW=x=y");
  sources_.environment.emplace_back("XDG_RUNTIME_DIR=/run/user/0");
  const Caller caller = find_caller(sources_).value();
  EXPECT_EQ(caller.id.uid, kNobodyHere);
  EXPECT_EQ(caller.id.gid, 54322U);
  EXPECT_THAT(caller.id.groups, ElementsAre(54322));
  EXPECT_EQ(caller.name, "ada");
  EXPECT_EQ(caller.through, "sudo");
  EXPECT_TRUE(caller.through_parent);
  EXPECT_THAT(
      caller.environment,
      UnorderedElementsAre("HOME=/home/ada", "USER=ada", "TERM=xterm",
                           "PATH=/home/ada/venv/bin:/usr/bin", "LD_LIBRARY_PATH=/opt/cuda",
                           "OMP_NUM_THREADS=2", "NEW=x=y", "XDG_RUNTIME_DIR=/run/user/54321"));
}

TEST_F(CallerTest, ARootShellOfSudoGivesTheShellsEnvironment) {
  add_process(300, 299, "bash", {"A=of the shell at its start"});
  add_process(299, 1, "sudo", {"A=of the caller"});
  sources_.environment.emplace_back("A=exported later");
  sources_.environment.emplace_back("PWD=/data");
  const Caller caller = find_caller(sources_).value();
  EXPECT_FALSE(caller.through_parent);
  EXPECT_THAT(caller.environment,
              UnorderedElementsAre("TERM=xterm", "A=exported later", "PWD=/data", "PATH=/usr/sbin",
                                   "HOME=/", "USER=ada", "LOGNAME=ada", "SHELL=/bin/sh"));
}

TEST_F(CallerTest, NamesAndGroupsComeFromTheUserDatabase) {
  sources_.environment = {"SUDO_UID=1", "SUDO_GID=1", "SUDO_USER=daemon"};
  const Caller caller = find_caller(sources_).value();
  EXPECT_EQ(caller.name, "daemon");
  EXPECT_THAT(caller.id.groups, Contains(1));
  EXPECT_THAT(caller.environment,
              IsSupersetOf({"USER=daemon", "PATH=/usr/local/bin:/usr/bin:/bin"}));
  EXPECT_THAT(caller.environment, Not(Contains(StartsWith("SUDO_"))));
}

TEST_F(CallerTest, DoasAndPkexec) {
  sources_.environment = {"DOAS_USER=daemon"};
  EXPECT_EQ(find_caller(sources_).value().id.uid, 1U);
  sources_.environment = {"PKEXEC_UID=1"};
  EXPECT_EQ(find_caller(sources_).value().id.gid, 1U);
  sources_.environment = {"DOAS_USER=no such user"};
  EXPECT_FALSE(find_caller(sources_).has_value());
}

TEST_F(CallerTest, NonsenseIsAnErrorAndNeverRoot) {
  for (const char* uid : {"", "x", "-1", "4294967295", "99999999999", "0x10", "1 "}) {
    sources_.environment = {std::string("SUDO_UID=") + uid, "SUDO_GID=1"};
    EXPECT_FALSE(find_caller(sources_).has_value()) << uid;
  }
  sources_.environment = {"SUDO_UID=1"};
  EXPECT_FALSE(find_caller(sources_).has_value());
}

TEST_F(CallerTest, AsRootIsThisProcess) {
  const Caller caller = this_process(sources_);
  EXPECT_EQ(caller.id.uid, 0U);
  EXPECT_EQ(caller.environment, sources_.environment);
}

TEST_F(CallerTest, VariableNeedsTheWholeName) {
  Caller caller;
  caller.environment = {"AB=1", "A=2", "C"};
  EXPECT_EQ(caller.variable("A"), "2");
  EXPECT_FALSE(caller.variable("C").has_value());
}

TEST_F(CallerTest, ThisProcessHasItsEnvironment) {
  ::setenv("CALLER_TEST", "yes", 1);
  const CallerSources sources = CallerSources::of_this_process();
  EXPECT_EQ(sources.parent, ::getppid());
  EXPECT_EQ(sources.id.uid, ::getuid());
  EXPECT_THAT(sources.environment, Contains("CALLER_TEST=yes"));
  ::unsetenv("CALLER_TEST");
}

}  // namespace
}  // namespace jobscope
