#include "src/base/caps.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

namespace jobscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Runs `check` in a child, whose capabilities it may spoil; true if it returned true there.
template <class F>
bool in_child(F check) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(check() ? 0 : 1);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

PrivilegeFacts person() {
  PrivilegeFacts facts;
  facts.binary = "/opt/jobscope/bin/jobscope";
  facts.argv = {"jobscope", "run", "--", "python", "train.py", "--name=it's me"};
  facts.uid = 1000;
  return facts;
}

TEST(Caps, NamesAreAsInTheManual) {
  EXPECT_EQ(capability_name(CAP_BPF), "CAP_BPF");
  EXPECT_EQ(capability_name(CAP_DAC_READ_SEARCH), "CAP_DAC_READ_SEARCH");
  EXPECT_EQ(capability_name(63), "CAP_63");
}

TEST(Caps, UnknownCapabilityIsMissing) {
  const Capability list[] = {63};
  EXPECT_THAT(missing_of(list), ElementsAre(63));
}

TEST(Caps, DropKeepsOnlyWhatIsListedAndPermitted) {
  const bool had = has_capability(CAP_BPF);
  EXPECT_TRUE(in_child([had] {
    const Capability keep[] = {CAP_BPF, 63};
    if (!drop_all_but(keep)) return false;
    if (has_capability(CAP_BPF) != had || has_capability(CAP_KILL)) return false;
    // What is gone can't be raised again.
    const Capability gone[] = {CAP_KILL};
    return !raise(gone).has_value();
  }));
}

TEST(Caps, LoweredCanBeRaisedAgain) {
  if (!has_capability(CAP_BPF)) GTEST_SKIP() << "skipped: needs CAP_BPF";
  EXPECT_TRUE(in_child([] {
    const Capability list[] = {CAP_BPF};
    if (!lower(list) || has_capability(CAP_BPF)) return false;
    return raise(list).has_value() && has_capability(CAP_BPF);
  }));
}

TEST(Caps, MessageGivesTheCommandsThatHelp) {
  const Error error = lacking_privileges(person());
  EXPECT_EQ(error.what,
            "eBPF programs need CAP_BPF and CAP_PERFMON (and CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH "
            "to name files and libraries)");
  EXPECT_EQ(error.hint,
            "run it as: sudo /opt/jobscope/bin/jobscope run -- python train.py "
            "'--name=it'\\''s me'   (the job still runs as you)\n"
            "or once:   sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search=ep "
            "/opt/jobscope/bin/jobscope");
}

TEST(Caps, MessageCutsLongCommands) {
  PrivilegeFacts facts = person();
  facts.argv.assign(50'000, "argument");
  EXPECT_LT(lacking_privileges(facts).hint.size(), 1000U);
  EXPECT_THAT(lacking_privileges(facts).hint, HasSubstr("argument ...\n"));
}

TEST(Caps, MessageDoesNotAdviseWhatCannotWork) {
  PrivilegeFacts facts = person();
  facts.nosuid = true;
  EXPECT_THAT(lacking_privileges(facts).hint, Not(HasSubstr("sudo setcap")));
  facts.no_new_privileges = true;
  EXPECT_THAT(lacking_privileges(facts).hint, Not(HasSubstr("run it as: sudo")));
  facts.uid = 0;
  EXPECT_THAT(lacking_privileges(facts).hint,
              HasSubstr("--cap-add=BPF --cap-add=PERFMON --cap-add=SYS_PTRACE"));
  facts.user_namespace = true;
  EXPECT_THAT(lacking_privileges(facts).hint, HasSubstr("user namespace"));
}

TEST(Caps, CheckAgreesWithTheKernel) {
  const char* argv[] = {"jobscope", "check"};
  const bool able = has_capability(CAP_BPF) && has_capability(CAP_PERFMON) &&
                    !PrivilegeFacts::of_this_process(argv).user_namespace;
  EXPECT_EQ(check_watch_privileges(argv).has_value(), able);
  EXPECT_TRUE(in_child(
      [&] { return drop_all_but({}).has_value() && !check_watch_privileges(argv).has_value(); }));
}

}  // namespace
}  // namespace jobscope
