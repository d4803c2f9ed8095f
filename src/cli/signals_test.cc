#include "src/cli/signals.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <utility>

#include "src/base/clock.h"

namespace jobscope {
namespace {

// Reads signals as `run` does until the job has ended.
ExitStatus follow(JobSignals& signals, pid_t job) {
  while (true) {
    pollfd ready{signals.fd(), POLLIN, 0};
    ::poll(&ready, 1, -1);
    while (const auto info = signals.read())
      if (signals.handle(*info, job) == JobSignals::Action::reap)
        if (const auto status = signals.reap(job)) return *status;
  }
}

volatile sig_atomic_t g_got = 0;

// Signals are of a whole process, so each test has its own, leader of its own group: `ours` plays
// jobscope with `job` as its job, and its answer becomes its exit code.
class SignalsTest : public ::testing::Test {
 protected:
  // Starts it, and returns when the job is ready for signals.
  void start(const std::function<int()>& job, const std::function<int(JobSignals&, pid_t)>& ours) {
    ASSERT_EQ(::pipe2(to_test_, O_CLOEXEC), 0);
    jobscope_ = ::fork();
    if (jobscope_ == 0) {
      ::setpgid(0, 0);
      if (ignore_children_) ::signal(SIGCHLD, SIG_IGN);
      const SignalState state = SignalState::now();
      auto signals = JobSignals::block_and_open({::getuid(), ::getgid(), {}});
      if (!signals) ::_exit(99);
      const pid_t pid = ::fork();
      if (pid == 0) {
        state.restore();
        ::_exit(job());
      }
      ::_exit(ours(*signals, pid));
    }
    ASSERT_EQ(::read(to_test_[0], &job_, sizeof job_), static_cast<ssize_t>(sizeof job_));
  }
  // The job says so, by its pid.
  void ready() const {
    const pid_t pid = ::getpid();
    if (::write(to_test_[1], &pid, sizeof pid) != sizeof pid) ::_exit(99);
  }
  // Exit code of `ours`; -N if it died of signal N.
  int end() {
    for (int& fd : to_test_) ::close(std::exchange(fd, -1));
    int status = 0;
    ::waitpid(jobscope_, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

  // A job that counts a signal for a third of a second after the first, and ends with the count.
  std::function<int()> counts(int signal) {
    return [this, signal] {
      struct sigaction action {};
      action.sa_handler = [](int) { g_got = g_got + 1; };
      ::sigaction(signal, &action, nullptr);
      ready();
      while (g_got == 0) ::usleep(1000);
      for (const uint64_t from = monotonic_now(); monotonic_now() < from + 350'000'000;)
        ::usleep(1000);
      return static_cast<int>(g_got);
    };
  }
  static int exit_code(JobSignals& signals, pid_t job) {
    return exit_code_of(follow(signals, job));
  }

  int to_test_[2] = {-1, -1};
  bool ignore_children_ = false;  // jobscope is started with SIGCHLD ignored
  pid_t jobscope_ = 0;
  pid_t job_ = 0;
};

TEST_F(SignalsTest, ExitCodesAreAsInAShell) {
  ExitStatus status;
  status.code = 23;
  EXPECT_EQ(exit_code_of(status), 23);
  status.signal = SIGTERM;
  EXPECT_EQ(exit_code_of(status), 143);
}

TEST_F(SignalsTest, ReapsWithTheTimeOfTheJob) {
  start(
      [this] {
        ready();
        for (const uint64_t from = read_clock(CLOCK_PROCESS_CPUTIME_ID);
             read_clock(CLOCK_PROCESS_CPUTIME_ID) < from + 50'000'000;) {
        }
        return 7;
      },
      [](JobSignals& signals, pid_t job) {
        const ExitStatus status = follow(signals, job);
        const bool used = status.usage.ru_utime.tv_usec + status.usage.ru_stime.tv_usec > 30'000;
        return used ? status.code : 98;
      });
  EXPECT_EQ(end(), 7);
}

TEST_F(SignalsTest, OneForUsAloneIsPassedOn) {
  for (const int signal : {SIGINT, SIGTERM, SIGWINCH, SIGRTMIN + 3}) {
    start(counts(signal), exit_code);
    ::kill(jobscope_, signal);
    EXPECT_EQ(end(), 1) << signal;
  }
}

TEST_F(SignalsTest, OneForTheGroupIsNotPassedOn) {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    start(counts(signal), exit_code);
    ::kill(-jobscope_, signal);
    EXPECT_EQ(end(), 1) << signal;
  }
}

TEST_F(SignalsTest, OneForUsAndThenTheGroupArrivesOnce) {
  start(counts(SIGTERM), exit_code);  // as timeout(1) does
  ::kill(jobscope_, SIGTERM);
  ::kill(-jobscope_, SIGTERM);
  EXPECT_EQ(end(), 1);
}

TEST_F(SignalsTest, OneForTheGroupIsPassedOnToAJobThatLeftIt) {
  start(
      [this] {
        ::setpgid(0, 0);
        return counts(SIGTERM)();
      },
      exit_code);
  ::kill(-jobscope_, SIGTERM);
  EXPECT_EQ(end(), 1);
}

TEST_F(SignalsTest, OneFromTheJobIsNotPassedBack) {
  start(
      [this] {
        struct sigaction action {};
        action.sa_handler = [](int) { g_got = g_got + 1; };
        ::sigaction(SIGUSR1, &action, nullptr);
        ready();
        ::kill(::getppid(), SIGUSR1);
        ::usleep(200'000);
        return static_cast<int>(g_got);
      },
      exit_code);
  EXPECT_EQ(end(), 0);
}

TEST_F(SignalsTest, TheValueOfAQueuedSignalArrives) {
  start(
      [this] {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR2);
        ::sigprocmask(SIG_BLOCK, &set, nullptr);
        ready();
        siginfo_t info{};
        ::sigwaitinfo(&set, &info);
        return info.si_value.sival_int;
      },
      exit_code);
  sigval value{};
  value.sival_int = 61;
  ::sigqueue(jobscope_, SIGUSR2, value);
  EXPECT_EQ(end(), 61);
}

TEST_F(SignalsTest, NoneEndsUsWhileTheJobLives) {
  start(
      [this] {
        for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(signal, SIG_IGN);
        ready();
        ::usleep(600'000);
        return 5;
      },
      exit_code);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ})
    ::kill(jobscope_, signal);
  EXPECT_EQ(end(), 5);
}

TEST_F(SignalsTest, AJobThatDiedOfASignal) {
  start(
      [this] {
        ready();
        ::pause();
        return 0;
      },
      exit_code);
  ::kill(jobscope_, SIGTERM);
  EXPECT_EQ(end(), 143);
}

TEST_F(SignalsTest, AfterSigintWeEndBySigintToo) {
  start(
      [this] {
        ready();
        ::pause();
        return 0;
      },
      [](JobSignals& signals, pid_t job) -> int { end_as(follow(signals, job)); });
  ::kill(jobscope_, SIGINT);
  EXPECT_EQ(end(), -SIGINT);
}

TEST_F(SignalsTest, SigstopOfTheJobDoesNotStopUs) {
  start(
      [this] {
        ready();
        ::usleep(50'000);
        return 4;
      },
      exit_code);
  ::kill(job_, SIGSTOP);
  ::usleep(100'000);
  int status = 0;
  EXPECT_EQ(::waitpid(jobscope_, &status, WUNTRACED | WNOHANG), 0);
  ::kill(jobscope_, SIGCONT);  // for us alone: passed on
  EXPECT_EQ(end(), 4);
}

TEST_F(SignalsTest, WeStopAndContinueWithTheJob) {
  start(
      [this] {
        ready();
        ::usleep(50'000);
        return 4;
      },
      exit_code);
  ::kill(job_, SIGTSTP);
  // We are in another group of its session, as a shell is; else the kernel would stop nobody.
  int status = 0;
  ASSERT_EQ(::waitpid(jobscope_, &status, WUNTRACED), jobscope_);
  ASSERT_TRUE(WIFSTOPPED(status));
  EXPECT_EQ(WSTOPSIG(status), SIGTSTP);
  ::kill(jobscope_, SIGCONT);
  EXPECT_EQ(end(), 4);
}

TEST_F(SignalsTest, WithoutAJobTheyMeanQuit) {
  start(
      [this] {
        ready();
        return 0;
      },
      [](JobSignals& signals, pid_t) {
        for (pollfd ready{signals.fd(), POLLIN, 0};; ::poll(&ready, 1, -1))
          while (const auto info = signals.read())
            if (signals.handle(*info, 0) == JobSignals::Action::quit) return 9;
      });
  ::kill(jobscope_, SIGTERM);
  EXPECT_EQ(end(), 9);
}

TEST_F(SignalsTest, AnIgnoredSigchldDoesNotLoseTheJob) {
  ignore_children_ = true;
  start(
      [this] {
        struct sigaction action {};
        ::sigaction(SIGCHLD, nullptr, &action);
        ready();
        return action.sa_handler == SIG_IGN ? 3 : 4;
      },
      exit_code);
  EXPECT_EQ(end(), 3);
}

}  // namespace
}  // namespace jobscope
