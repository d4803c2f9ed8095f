#include "src/cli/launch.h"

#include <linux/capability.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>

namespace jobscope {
namespace {

constexpr const char* kShell = "/bin/sh";
constexpr const char* kDefaultPath = "/bin:/usr/bin";
constexpr int kNotStarted = 125;
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (const std::string& s : strings) out.push_back(const_cast<char*>(s.c_str()));
  out.push_back(nullptr);
  return out;
}

// sudo (use_pty) makes a terminal for us and gives it to root: the job could use it, but not open
// it as /dev/stdout or /dev/stderr, which scripts do. It is ours alone and goes when we go, so it
// may be the caller's.
void give_terminal_to(const Caller& caller) {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    struct stat info {};
    if (::isatty(fd) == 1 && ::fstat(fd, &info) == 0 && info.st_uid == 0)
      static_cast<void>(::fchown(fd, caller.id.uid, static_cast<gid_t>(-1)));
  }
}

}  // namespace

// All that the child needs, made before the fork: after it only async-signal-safe calls are made.
struct Launch::Plan {
  bool switch_identity = false;
  bool drop_all = false;  // capabilities of a job that is not root's
  Identity id;
  SignalState signals;
  bool search = false;  // the command is looked for in PATH
  std::vector<std::string> paths;
  std::vector<char*> argv;
  std::vector<char*> shell_argv;  // sh, a place for the script, the arguments
  std::vector<char*> environment;
};

namespace {

bool take_identity(const Identity& id) {
  return ::syscall(SYS_setgroups, id.groups.size(), id.groups.data()) == 0 &&
         ::syscall(SYS_setresgid, id.gid, id.gid, id.gid) == 0 &&
         ::syscall(SYS_setresuid, id.uid, id.uid, id.uid) == 0;
}

// Takes from this process what jobscope watches with, which a service may have given it as ambient
// capabilities; or all. What else is inheritable was before us, and gives nothing by itself.
bool drop_capabilities(bool all) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return false;
  for (const NeededCapability& need : kWatchCapabilities) {
    auto& word = data[CAP_TO_INDEX(need.value)];
    word.inheritable &= ~CAP_TO_MASK(need.value);
    word.permitted &= ~CAP_TO_MASK(need.value);
    word.effective &= ~CAP_TO_MASK(need.value);
  }
  if (all)
    for (auto& word : data) word.effective = word.permitted = 0;
  return ::syscall(SYS_capset, &header, data.data()) == 0;
}

// A file that is no program of this machine is given to the shell, as execvp() does, unless it
// looks like no text either (a zero byte before the first line end, as POSIX says).
bool looks_like_script(const char* path) {
  std::array<char, 256> start{};
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = ::read(fd, start.data(), start.size());
  ::close(fd);
  for (ssize_t i = 0; i < n && start[static_cast<size_t>(i)] != '\n'; ++i)
    if (start[static_cast<size_t>(i)] == '\0') return false;
  return n >= 0;
}

bool is_folder(const char* path) {
  struct stat info {};
  return ::stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

// Runs in the child.
void Launch::become_job(Plan& plan, int socket) {
  const auto give_up = [socket](Step step, int code) {
    const Report report{step, code};
    ::send(socket, &report, sizeof report, MSG_NOSIGNAL);
    ::_exit(kNotStarted);
  };
  char go = 0;
  ssize_t n = 0;
  do n = ::recv(socket, &go, 1, 0);
  while (n < 0 && errno == EINTR);
  if (n != 1) ::_exit(kNotStarted);  // jobscope is gone

  if (plan.switch_identity && !take_identity(plan.id)) give_up(Step::identity, errno);
  if (plan.id.uid != 0 && !drop_capabilities(plan.drop_all)) give_up(Step::capabilities, errno);
  plan.signals.restore();

  // As execvp(): a place without the file, or where it may not be executed, is passed over.
  int failed = ENOENT;
  for (const std::string& path : plan.paths) {
    ::execve(path.c_str(), plan.argv.data(), plan.environment.data());
    int code = errno;
    if (code == ENOEXEC && looks_like_script(path.c_str())) {
      plan.shell_argv[1] = const_cast<char*>(path.c_str());
      ::execve(kShell, plan.shell_argv.data(), plan.environment.data());
      code = errno;
    }
    if (!plan.search) {
      failed = code == EACCES && is_folder(path.c_str()) ? EISDIR : code;
      break;
    }
    if (code == ENOENT || code == ENOTDIR || code == ESTALE || code == ENODEV || code == ETIMEDOUT)
      continue;
    // In a folder that may not be searched there is nothing for the caller.
    if (code == EACCES && ::access(path.c_str(), F_OK) != 0) continue;
    failed = code;
    if (code != EACCES && code != ENAMETOOLONG) break;
  }
  give_up(Step::exec, failed);
  ::_exit(kNotStarted);
}

Result<Launch> Launch::prepare(const LaunchOptions& options) {
  if (options.argv.empty()) return fail("there is no command to run");
  const Caller& caller = options.caller;
  Plan plan;
  plan.id = caller.id;
  plan.switch_identity = ::geteuid() != caller.id.uid;
  // After a change of identity nothing is left, and after exec nothing would be of what a file gave
  // to us: this is for sure.
  plan.drop_all = plan.switch_identity || ::getauxval(AT_SECURE) != 0;
  plan.signals = options.signals;
  plan.search = options.argv[0].find('/') == std::string::npos;
  plan.paths = candidates(options.argv[0], caller.variable("PATH").value_or(kDefaultPath));
  plan.argv = pointers(options.argv);
  plan.shell_argv = plan.argv;
  plan.shell_argv.insert(plan.shell_argv.begin(), const_cast<char*>(kShell));
  plan.environment = pointers(caller.environment);
  if (plan.switch_identity && caller.through_parent) give_terminal_to(caller);

  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return fail_errno("cannot make a socket pair");
  Launch launch;
  launch.socket_ = Fd(pair[0]);
  const Fd theirs(pair[1]);
  launch.command_ = options.argv[0];
  launch.user_ = caller.name;
  launch.pid_ = ::fork();
  if (launch.pid_ == 0) {
    // Ours would keep it waiting when we are gone.
    launch.socket_.reset();
    become_job(plan, theirs.get());
  }
  if (launch.pid_ < 0) return fail_errno("cannot start a process");
  launch.pidfd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, launch.pid_, 0)));
  if (!launch.pidfd_) return fail_errno("cannot watch process " + std::to_string(launch.pid_));
  return launch;
}

Launch::Launch(Launch&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      released_(other.released_),
      pidfd_(std::move(other.pidfd_)),
      socket_(std::move(other.socket_)),
      command_(std::move(other.command_)),
      user_(std::move(other.user_)),
      failure_(std::move(other.failure_)) {}

Launch::~Launch() {
  if (pid_ <= 0 || released_) return;
  socket_.reset();
  // Nobody has continued it if it was stopped; it has nothing to do but to end.
  ::kill(pid_, SIGCONT);
  ::waitpid(pid_, nullptr, 0);
}

Result<> Launch::release() {
  released_ = true;
  const char go = 1;
  if (::send(socket_.get(), &go, 1, MSG_NOSIGNAL) != 1) {
    // It was killed while it waited; waiting for it says how.
    socket_.reset();
    return {};
  }
  while (true) {
    pollfd ready{socket_.get(), POLLIN, 0};
    if (::poll(&ready, 1, 20) > 0) break;
    // Ctrl-Z came before the command was there: it goes on when it is continued.
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == pid_)
      return {};
  }
  if (const auto failed = failure()) {
    ::waitpid(pid_, nullptr, 0);
    return tl::unexpected(failed->error);
  }
  return {};
}

std::optional<Launch::Failure> Launch::failure() {
  if (!socket_) return failure_;
  Report report{};
  const ssize_t n = ::recv(socket_.get(), &report, sizeof report, MSG_DONTWAIT);
  if (n == sizeof report) failure_ = failure_of(report);
  if (n >= 0 || errno != EAGAIN) socket_.reset();
  return failure_;
}

Launch::Failure Launch::failure_of(const Report& report) const {
  switch (report.step) {
    case Step::identity:
      return {fail_errno("cannot run the job as " + user_, report.code).value(), kNotStarted};
    case Step::capabilities:
      return {fail_errno("cannot take our capabilities from the job", report.code).value(),
              kNotStarted};
    case Step::exec: break;
  }
  std::string hint;
  // A script, or a program for another libc.
  if (report.code == ENOENT && command_.find('/') != std::string::npos &&
      ::access(command_.c_str(), F_OK) == 0)
    hint = "the file is there, but the interpreter that it names is not";
  if (report.code == E2BIG)
    hint = "the arguments and the environment together are more than the kernel takes";
  return {fail_errno(command_, report.code, hint).value(),
          report.code == ENOENT ? kNotFound : kNotExecutable};
}

std::vector<std::string> candidates(const std::string& command, std::string_view path) {
  if (command.empty()) return {};
  if (command.find('/') != std::string::npos) return {command};
  std::vector<std::string> out;
  while (true) {
    const size_t colon = path.find(':');
    std::string candidate(path.substr(0, colon));
    if (!candidate.empty()) candidate += '/';
    out.push_back(candidate += command);
    if (colon == std::string_view::npos) return out;
    path.remove_prefix(colon + 1);
  }
}

Result<> hold_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // Those below are open, so this is the number it gets.
    if (::open("/dev/null", O_RDWR | O_CLOEXEC) != fd) return fail_errno("cannot open /dev/null");
  }
  return {};
}

}  // namespace jobscope
