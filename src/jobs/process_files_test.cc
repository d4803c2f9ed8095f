#include "src/jobs/process_files.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <thread>

#include "src/jobs/fixture_processes_for_test.h"

namespace jobscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class ProcessFilesTest : public ::testing::Test {
 protected:
  void write(uint32_t pid, const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(processes_.file(pid, "."));
    std::ofstream(processes_.file(pid, name)) << text;
  }
  FixtureProcesses processes_;
  ProcessFiles files_{processes_.proc()};
};

std::string stat_line(const std::string& comm, const std::string& rest) {
  return "42 (" + comm + ") S 7 42 9 0 -1 4194304" + rest + "\n";
}
const std::string kRest = " 0 0 0 0 0 0 0 0 20 0 1 0 1234 0 0 0 0 0 777 0 0";

TEST(ThreadStat, is_read_by_its_fields) {
  const auto stat = parse_thread_stat(stat_line("python", kRest));
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->comm, "python");
  EXPECT_EQ(stat->parent, 7u);
  EXPECT_EQ(stat->session, 9u);
  EXPECT_EQ(stat->start, 1234u);
  EXPECT_EQ(stat->stack, 777u);
  EXPECT_FALSE(stat->kernel);
  EXPECT_TRUE(parse_thread_stat("2 (kthreadd) S 0 0 0 0 -1 2129984" + kRest)->kernel);
}

TEST(ThreadStat, bears_any_name) {
  for (const std::string& comm : {std::string(""), std::string(") S 1 (x"), std::string("a\nb")}) {
    const auto stat = parse_thread_stat(stat_line(comm, kRest));
    ASSERT_TRUE(stat) << comm;
    EXPECT_EQ(stat->comm, comm);
    EXPECT_EQ(stat->parent, 7u);
  }
}

TEST(ThreadStat, of_nonsense_is_none) {
  for (const std::string& text :
       {std::string(""), std::string("42"), std::string(")("), std::string("42 (x"),
        std::string("42 (x)"), stat_line("x", ""), stat_line("x", " a b c"),
        std::string(1 << 20, ')'), std::string(1 << 20, ' ')})
    EXPECT_FALSE(parse_thread_stat(text)) << text.substr(0, 40);
}

TEST(ThreadStat, another_program_has_another_stack_or_name) {
  const ThreadStat now{.comm = "a", .start = 1, .stack = 10};
  EXPECT_TRUE(now.same_program({.comm = "a", .start = 1, .stack = 10}));
  EXPECT_TRUE(now.same_program({.comm = "a", .start = 1, .stack = 0}));  // it is ending
  EXPECT_FALSE(now.same_program({.comm = "a", .start = 1, .stack = 11}));
  EXPECT_FALSE(now.same_program({.comm = "b", .start = 1, .stack = 10}));
  EXPECT_FALSE(now.same_program({.comm = "a", .start = 2, .stack = 10}));
}

TEST_F(ProcessFilesTest, a_command_line_keeps_its_words) {
  processes_.add({.pid = 10, .argv = {"python", "", "a b"}});
  EXPECT_THAT(files_.command_line(10), ElementsAre("python", "", "a b"));
  write(10, "cmdline", "rewritten by itself");  // no NUL
  EXPECT_THAT(files_.command_line(10), ElementsAre("rewritten by itself"));
  write(10, "cmdline", "");
  EXPECT_THAT(files_.command_line(10), IsEmpty());
  EXPECT_THAT(files_.command_line(11), IsEmpty());
  write(10, "cmdline", std::string(10 << 20, 'x'));
  EXPECT_EQ(files_.command_line(10).at(0).size(), 32u << 10);
}

TEST_F(ProcessFilesTest, an_environment_is_bounded_and_a_cut_entry_left_out) {
  processes_.add({.pid = 10, .argv = {}, .environment = {"A=1", "B=" + std::string(2 << 20, 'x')}});
  EXPECT_EQ(files_.environment(10), std::string("A=1\0", 4));
  write(10, "environ", std::string(10 << 20, 'x'));
  EXPECT_EQ(files_.environment(10), "");
  EXPECT_EQ(files_.environment(11), "");
}

TEST_F(ProcessFilesTest, the_owner_is_the_real_user) {
  processes_.add({.pid = 10, .argv = {}, .uid = 1234, .of = 9});
  const auto owner = files_.owner(10);
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->process, 9u);
  EXPECT_EQ(owner->user, 1234u);
  write(10, "status", "Name:\tUid:\t0\nTgid:\t9\n");
  EXPECT_FALSE(files_.owner(10));
  EXPECT_FALSE(files_.owner(11));
}

TEST_F(ProcessFilesTest, frameworks_are_recognised_by_the_names_of_their_libraries) {
  const auto maps = [&](const std::string& text) {
    write(10, "maps", text);
    return files_.maps_framework(10);
  };
  const std::string line = "7f00-7f01 r-xp 00000000 08:01 42         ";
  const std::string python =
      line + "/usr/lib/libpython3.11.so.1.0\n" + line + "\n" + line + "[heap]\n";
  EXPECT_FALSE(maps(python));
  EXPECT_FALSE(maps(python + line + "/home/libtorch/lib/libc.so.6\n"));  // a folder is no library
  EXPECT_TRUE(maps(python + line + "/opt/libtorch_cpu.so\n"));
  EXPECT_TRUE(maps(python + line + "/opt/libmindspore_backend.so\n" + python));
  EXPECT_TRUE(maps(line + "/opt/libtensorflow_framework.so.2\n"));
  EXPECT_TRUE(maps(line + "/opt/jaxlib/libjax_common.so\n"));
  EXPECT_FALSE(maps(""));
  EXPECT_FALSE(maps(std::string(1 << 20, '/')));
  // wherever the pieces are cut that it is read in
  std::string many;
  while (many.size() < 100'000) many += python;
  for (size_t shift = 0; shift < 64; ++shift)
    EXPECT_TRUE(maps(std::string(shift, 'x') + "\n" + many.substr(0, 16'384 - 60) + "\n" + line +
                     "/opt/libtorch_cpu.so\n"))
        << shift;
  EXPECT_FALSE(files_.maps_framework(11));
}

TEST_F(ProcessFilesTest, processes_are_the_folders_with_numbers) {
  processes_.add({.pid = 10, .argv = {}});
  processes_.add({.pid = 4'000'000, .argv = {}});
  std::filesystem::create_directories(processes_.proc() + "/sys");
  std::filesystem::create_directories(processes_.proc() + "/99999999999999");
  EXPECT_THAT(files_.processes(), UnorderedElementsAre(10, 4'000'000));
  EXPECT_THAT(ProcessFiles(processes_.proc() + "/none").processes(), IsEmpty());
}

TEST(ProcessFilesOfThisMachine, tell_of_a_thread_too) {
  const ProcessFiles files("/proc");
  uint32_t tid = 0;
  std::optional<ThreadStat> stat;
  std::optional<ProcessFiles::Owner> owner;
  std::thread([&] {
    tid = static_cast<uint32_t>(::gettid());
    stat = files.stat(tid);
    owner = files.owner(tid);
  }).join();
  const auto self = static_cast<uint32_t>(::getpid());
  ASSERT_TRUE(stat && owner && files.stat(self));
  EXPECT_EQ(owner->process, self);
  EXPECT_EQ(owner->user, ::getuid());
  EXPECT_EQ(stat->parent, static_cast<uint32_t>(::getppid()));
  EXPECT_EQ(stat->session, static_cast<uint32_t>(::getsid(0)));
  EXPECT_GE(stat->start, files.stat(self)->start);
  EXPECT_NE(files.stat(self)->stack, 0u);
  EXPECT_FALSE(files.maps_framework(self));
  EXPECT_FALSE(files.cgroups(self).empty());
  EXPECT_FALSE(files.host_name().empty());
}

}  // namespace
}  // namespace jobscope
