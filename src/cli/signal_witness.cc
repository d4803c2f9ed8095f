#include "src/cli/signal_witness.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <utility>

#include "src/base/clock.h"

namespace jobscope {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
// Long for a process to be woken on a busy machine, short for a person who sent a signal.
constexpr uint64_t kWait = 100 * kMillisecond;
// How long a note counts, for all that match it: `timeout` signals its child and then its group,
// and wants one thing by it.
constexpr uint64_t kFresh = 300 * kMillisecond;

}  // namespace

Result<SignalWitness> SignalWitness::start(const Identity& caller) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return fail_errno("cannot make a socket pair");
  Fd ours(pair[0]);
  const Fd theirs(pair[1]);
  // No signal may end it before it holds them all back.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) watch(theirs.get(), caller);
  const int code = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return fail_errno("cannot start a process", code);
  SignalWitness witness;
  witness.pid_ = pid;
  witness.socket_ = std::move(ours);
  return witness;
}

SignalWitness::SignalWitness(SignalWitness&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      socket_(std::move(other.socket_)),
      notes_(std::move(other.notes_)) {}

SignalWitness& SignalWitness::operator=(SignalWitness&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(socket_, other.socket_);
  std::swap(notes_, other.notes_);
  return *this;
}

// It ends when the socket closes; SIGKILL is for the case that someone has stopped it. A zombie of
// ours would stay for good in a container whose first process waits for nobody.
SignalWitness::~SignalWitness() {
  socket_.reset();
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  pollfd ended{pidfd.get(), POLLIN, 0};
  ::poll(&ended, 1, static_cast<int>(kWait / kMillisecond));
  ::waitpid(pid_, nullptr, WNOHANG);
}

void SignalWitness::watch(int socket, const Identity& caller) {
  // Nothing of ours stays open in it: a pipe's reader waits for the last writer.
  if (::dup2(socket, 0) < 0) ::_exit(0);
  ::syscall(SYS_close_range, 1U, UINT_MAX, 0U);
  ::prctl(PR_SET_NAME, "jobscope-signal");
  if (::geteuid() == 0 && caller.uid != 0 &&
      (::syscall(SYS_setgroups, caller.groups.size(), caller.groups.data()) != 0 ||
       ::syscall(SYS_setresgid, caller.gid, caller.gid, caller.gid) != 0 ||
       ::syscall(SYS_setresuid, caller.uid, caller.uid, caller.uid) != 0))
    ::_exit(0);
  if (!drop_all_but({})) ::_exit(0);

  sigset_t all;
  sigfillset(&all);
  const int signals = ::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
  pollfd ready[2] = {{signals, POLLIN, 0}, {0, POLLIN, 0}};
  while (signals >= 0) {
    if (::poll(ready, 2, -1) < 0 && errno != EINTR) break;
    if (ready[1].revents != 0) break;  // jobscope is gone
    signalfd_siginfo info;
    while (::read(signals, &info, sizeof info) == sizeof info) {
      if (info.ssi_code > 0) continue;  // the terminal's and the kernel's: nobody asks about these
      const Note note{info.ssi_signo, info.ssi_pid, info.ssi_code, monotonic_now()};
      ::send(0, &note, sizeof note, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
  }
  ::_exit(0);
}

// Looks among the notes that have come.
bool SignalWitness::noted(const signalfd_siginfo& info) {
  Note note;
  while (::recv(socket_.get(), &note, sizeof note, MSG_DONTWAIT) == sizeof note)
    notes_.push_back(note);
  const uint64_t now = monotonic_now();
  std::erase_if(notes_, [&](const Note& n) { return n.at + kFresh < now; });
  return std::ranges::any_of(notes_, [&](const Note& n) {
    return n.signal == info.ssi_signo && n.sender == info.ssi_pid && n.code == info.ssi_code;
  });
}

bool SignalWitness::saw(const signalfd_siginfo& info) {
  if (!socket_) return false;
  const uint64_t end = monotonic_now() + kWait;
  while (true) {
    if (noted(info)) return true;
    const uint64_t now = monotonic_now();
    if (now >= end) return false;
    pollfd ready{socket_.get(), POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>((end - now) / kMillisecond) + 1);
    if ((ready.revents & POLLHUP) != 0 && !noted(info)) {
      socket_.reset();  // someone ended it
      return false;
    }
  }
}

}  // namespace jobscope
