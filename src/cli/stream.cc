#include "src/cli/stream.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>

namespace jobscope {
namespace {

constexpr int kLastWait = 500;  // ms

bool is_readable(int fd) {
  pollfd polled{fd, POLLIN, 0};
  return ::poll(&polled, 1, 0) == 1;
}

}  // namespace

Result<StopSignals> StopSignals::open() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    // What was ignored for us (nohup, a shell's background) stays ignored.
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
    ::sigaddset(&set, signal);
  }
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return fail_errno("holding signals back");
  if (::signal(SIGPIPE, SIG_IGN) == SIG_ERR) return fail_errno("ignoring SIGPIPE");
  Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return fail_errno("opening a descriptor of signals");
  return StopSignals(std::move(fd));
}

bool StopSignals::came() const { return is_readable(fd_.get()); }

Result<bool> StreamWriter::flush() {
  size_t done = 0;
  while (done < text_.size()) {
    std::array<pollfd, 2> polled{{{fd_, POLLOUT, 0}, {stop_->fd(), POLLIN, 0}}};
    const bool stopping = stop_->came();
    const int ready = ::poll(polled.data(), stopping ? 1 : 2, stopping ? kLastWait : -1);
    if (ready < 0 && errno != EINTR) return fail_errno("waiting for standard output");
    if (ready == 0) break;
    if (ready < 0 || !polled[0].revents) continue;
    // A pipe that has room takes so much without a wait.
    const size_t chunk = std::min<size_t>(text_.size() - done, PIPE_BUF);
    const ssize_t written = ::write(fd_, text_.data() + done, chunk);
    if (written < 0 && errno == EPIPE) return false;
    if (written < 0 && errno != EINTR && errno != EAGAIN)
      return fail_errno("cannot write to standard output");
    if (written > 0) done += static_cast<size_t>(written);
  }
  text_.clear();
  return true;
}

bool StreamWriter::reader_gone() const {
  pollfd polled{fd_, 0, 0};
  return ::poll(&polled, 1, 0) == 1 && (polled.revents & POLLERR) != 0;
}

}  // namespace jobscope
