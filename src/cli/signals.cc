#include "src/cli/signals.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

namespace jobscope {
namespace {

// SIGALRM, SIGXCPU and real-time signals: batch systems warn jobs with them.
constexpr std::array kPassedOn = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,  SIGUSR1, SIGUSR2,
                                  SIGALRM, SIGXCPU, SIGCONT, SIGWINCH, SIGTSTP};

sigset_t signals_to_read() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kPassedOn) sigaddset(&set, signal);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) sigaddset(&set, signal);
  sigaddset(&set, SIGCHLD);
  return set;
}

sigset_t just(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

// A signal to a group reaches its members one after the other: time for the last to get it.
void let_it_arrive() {
  const timespec pause{0, 10'000'000};
  ::nanosleep(&pause, nullptr);
}

// Asks without taking the news away: as long as it is stopped, the answer stays.
bool is_stopped(pid_t pid, int* signal = nullptr) {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOHANG | WNOWAIT) != 0)
    return false;
  if (info.si_pid != pid) return false;
  if (signal != nullptr) *signal = info.si_status;
  return true;
}

// Stops this process as `signal` does by default. The kernel makes nothing of it where no shell
// could continue us (an orphaned process group). True if we were stopped and continued.
bool stop_ourselves(int signal) {
  const sigset_t set = just(signal);
  // Sent while it is held back, it joins the one that the terminal may have sent: one stop, not
  // two.
  ::kill(::getpid(), signal);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGCONT) == 1;
}

// The job was stopped by `signal`; stops us too, and continues the job when we are continued.
void follow_stop(pid_t job, int signal) {
  const pid_t ours = ::getpgrp();
  const pid_t group = ::getpgid(job);
  const bool apart = group > 0 && group != ours;
  const Fd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  const pid_t foreground = terminal ? ::tcgetpgrp(terminal.get()) : -1;
  if (signal == SIGSTOP) {
    // Unless it has the terminal for itself: a shell's `suspend`. Nobody could type anything else.
    if (!apart || foreground != group) return;
    signal = SIGTSTP;
  }
  // If all were stopped and continued at once, the job's SIGCONT may be a moment behind ours.
  let_it_arrive();
  if (!is_stopped(job)) return;

  // A shell as job makes its own group, and stops if it has not got the terminal. Ours to give.
  if (apart && foreground == ours && (signal == SIGTTIN || signal == SIGTTOU)) {
    if (::tcsetpgrp(terminal.get(), group) == 0) {
      ::kill(-group, SIGCONT);
      return;
    }
  }
  if (!stop_ourselves(signal)) return;
  // A job in its own group that had the terminal gets it back, if we have it now. Most give it back
  // to us before they stop: they take it themselves.
  if (apart && foreground == group && ::tcgetpgrp(terminal.get()) == ours)
    ::tcsetpgrp(terminal.get(), group);
  if (apart) {
    ::kill(-group, SIGCONT);
  } else {
    let_it_arrive();
    if (is_stopped(job)) ::kill(job, SIGCONT);
  }
}

// As process 1 we inherit every orphan; one we don't wait for stays a zombie.
void reap_orphans(pid_t job) {
  siginfo_t info{};
  while (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 &&
         info.si_pid != job) {
    ::waitpid(info.si_pid, nullptr, WNOHANG);
    info = {};
  }
}

bool is_of_terminal(int signal) {
  switch (signal) {
    case SIGINT:
    case SIGQUIT:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGWINCH:
    case SIGHUP:
    case SIGCONT: return true;
    default: return false;
  }
}

}  // namespace

SignalState SignalState::now() {
  SignalState state;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &state.mask_);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0)
      state.ignored_[static_cast<size_t>(signal)] = action.sa_handler == SIG_IGN;
  }
  return state;
}

void SignalState::restore() const {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    action.sa_handler = ignored_[static_cast<size_t>(signal)] ? SIG_IGN : SIG_DFL;
    ::sigaction(signal, &action, nullptr);
  }
  ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

int exit_code_of(const ExitStatus& status) {
  return status.signal != 0 ? 128 + status.signal : status.code;
}

void end_as(const ExitStatus& status) {
  std::fflush(nullptr);
  if (status.signal == SIGINT) {
    ::signal(SIGINT, SIG_DFL);
    const sigset_t set = just(SIGINT);
    ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    ::kill(::getpid(), SIGINT);  // as process 1 it does nothing
  }
  ::_exit(exit_code_of(status));
}

void JobSignals::let_go() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    ::signal(signal, SIG_DFL);
    ::sigaddset(&set, signal);
  }
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

Result<JobSignals> JobSignals::block_and_open(const Identity& caller) {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  // Ignored, as some parents leave it, the kernel would reap the job itself and tell nobody.
  ::signal(SIGCHLD, SIG_DFL);
  const sigset_t read = signals_to_read();
  sigset_t held = read;
  // A terminal in the background: we stop when the job does, not before; our report gets through.
  sigaddset(&held, SIGTTIN);
  sigaddset(&held, SIGTTOU);
  ::pthread_sigmask(SIG_BLOCK, &held, nullptr);
  Fd fd(::signalfd(-1, &read, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return fail_errno("cannot read signals");
  JobSignals signals(std::move(fd));
  // Without it all goes on; a signal to the group is passed on once too often then.
  if (auto witness = SignalWitness::start(caller)) signals.witness_ = std::move(*witness);
  return signals;
}

std::optional<signalfd_siginfo> JobSignals::read() {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return info;
}

bool JobSignals::job_has_it(const signalfd_siginfo& info, pid_t job) {
  // From the kernel: a terminal's goes to the whole group, a timer's (alarm, setitimer) to us
  // alone.
  if (info.ssi_code > 0) return is_of_terminal(static_cast<int>(info.ssi_signo));
  if (info.ssi_pid == static_cast<uint32_t>(job)) return true;
  return witness_.saw(info) && ::getpgid(job) == ::getpgrp();
}

JobSignals::Action JobSignals::handle(const signalfd_siginfo& info, pid_t job) {
  const int signal = static_cast<int>(info.ssi_signo);
  if (signal == SIGCHLD) return Action::reap;
  if (job <= 0) {
    if (signal == SIGTSTP) stop_ourselves(signal);
    const bool end = signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
    return end ? Action::quit : Action::none;
  }
  // Ctrl-Z while someone's SIGSTOP holds the job: the person wants the shell back.
  if (signal == SIGTSTP && is_stopped(job)) {
    follow_stop(job, signal);
    return Action::none;
  }
  if (info.ssi_pid == static_cast<uint32_t>(::getpid()) || job_has_it(info, job))
    return Action::none;
  if (info.ssi_code == SI_QUEUE) {
    sigval value{};
    value.sival_ptr = reinterpret_cast<void*>(info.ssi_ptr);
    ::sigqueue(job, signal, value);
  } else {
    ::kill(job, signal);
  }
  return Action::none;
}

std::optional<ExitStatus> JobSignals::reap(pid_t job) {
  if (::getpid() == 1) reap_orphans(job);
  int signal = 0;
  if (is_stopped(job, &signal)) follow_stop(job, signal);
  int status = 0;
  ExitStatus out;
  if (::wait4(job, &status, WNOHANG, &out.usage) != job) return std::nullopt;
  witness_ = {};  // there is nothing left to pass on
  if (WIFSIGNALED(status)) {
    out.signal = WTERMSIG(status);
    out.core = WCOREDUMP(status);
  } else {
    out.code = WEXITSTATUS(status);
  }
  return out;
}

}  // namespace jobscope
