#include "src/base/output_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <optional>
#include <utility>

namespace jobscope {
namespace {

// Those by which a process passes over the permissions of files.
constexpr std::array<Capability, 6> kFileCapabilities = {
    CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_CHOWN, CAP_FSETID, CAP_MKNOD};

// The ids by which the calling thread opens files; setfsuid() has no other way to say.
uid_t file_uid() { return static_cast<uid_t>(::setfsuid(static_cast<uid_t>(-1))); }
gid_t file_gid() { return static_cast<gid_t>(::setfsgid(static_cast<gid_t>(-1))); }

// glibc's setgroups() is for all threads, the kernel's for one.
bool set_thread_groups(const std::vector<gid_t>& groups) {
  return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

bool set_thread_ids(uid_t uid, gid_t gid) {
  ::setfsgid(gid);
  ::setfsuid(uid);
  return file_uid() == uid && file_gid() == gid;
}

// The descriptor that a path like /dev/stdout, /dev/fd/63 or /proc/self/fd/1 stands for. Opening
// such a path would start at offset 0 of a file behind it, and fails on another user's terminal.
std::optional<int> descriptor_of(std::string_view path) {
  if (path == "-" || path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    int fd = -1;
    const std::string_view name = path.substr(folder.size());
    const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), fd);
    if (failed == std::errc() && end == name.data() + name.size() && fd >= 0) return fd;
  }
  return std::nullopt;
}

// A file that is a mount point itself, as `-v out.json:/out.json` makes in a container: rename()
// can't replace it.
bool is_mount_point(int fd) {
  struct statx info {};
  return ::statx(fd, "", AT_EMPTY_PATH, 0, &info) == 0 &&
         (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

std::string temporary_name(const std::string& target) {
  static std::atomic<unsigned> next{0};
  return target.substr(0, target.rfind('/') + 1) + ".jobscope-" + std::to_string(::getpid()) + "-" +
         std::to_string(next++) + ".tmp";
}

}  // namespace

Result<ActingAs> ActingAs::take(const Identity& who) {
  ActingAs acting;
  if (who.uid == 0 && file_uid() == 0) return acting;
  acting.uid_ = file_uid();
  acting.gid_ = file_gid();
  if (acting.uid_ != who.uid || acting.gid_ != who.gid) {
    const int count = ::getgroups(0, nullptr);
    acting.groups_.resize(static_cast<size_t>(std::max(count, 0)));
    ::getgroups(count, acting.groups_.data());
    if (!set_thread_groups(who.groups))
      return fail_errno("cannot write files as user " + std::to_string(who.uid));
    acting.switched_ = true;
    if (!set_thread_ids(who.uid, who.gid))
      return fail_errno("cannot write files as user " + std::to_string(who.uid), EPERM);
  }
  // Leaving uid 0 took these away already; a process with file capabilities has some.
  for (const Capability capability : kFileCapabilities)
    if (has_capability(capability)) acting.lowered_.push_back(capability);
  TRY(lower(acting.lowered_));
  return acting;
}

ActingAs::ActingAs(ActingAs&& other) noexcept
    : switched_(std::exchange(other.switched_, false)),
      groups_(std::move(other.groups_)),
      uid_(other.uid_),
      gid_(other.gid_),
      lowered_(std::exchange(other.lowered_, {})) {}

ActingAs::~ActingAs() {
  if (switched_) {
    set_thread_ids(uid_, gid_);
    set_thread_groups(groups_);
  }
  // Can't fail: they are permitted, or were lowered by nobody.
  static_cast<void>(raise(lowered_));
}

tl::unexpected<Error> OutputFile::error(int code) const {
  const bool standard = path_ == "-";
  return fail_errno(
      "cannot write " + (standard ? "standard output" : path_), code,
      code == ENOSPC || code == EDQUOT ? "free some space, or write to another disk" : "");
}

Result<OutputFile> OutputFile::create(const std::string& path, const Identity& owner) {
  OutputFile file(path, owner);
  TRY(file.open());
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      owner_(std::move(other.owner_)),
      fd_(std::move(other.fd_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, "")),
      truncate_(other.truncate_),
      failed_(other.failed_) {}

OutputFile::~OutputFile() {
  if (temporary_.empty()) return;
  if (const auto acting = ActingAs::take(owner_)) ::unlink(temporary_.c_str());
}

Result<> OutputFile::open() {
  if (const auto fd = descriptor_of(path_)) {
    // One of our own descriptors is nothing the person can mean.
    const int flags = ::fcntl(*fd, F_GETFD);
    if (flags < 0 || (flags & FD_CLOEXEC) != 0) return error(EBADF);
    if ((::fcntl(*fd, F_GETFL) & O_ACCMODE) == O_RDONLY) return error(EBADF);
    fd_ = Fd(::fcntl(*fd, F_DUPFD_CLOEXEC, 3));
    if (!fd_) return error(errno);
    return {};
  }
  const auto acting = TRY(ActingAs::take(owner_));
  char resolved[PATH_MAX];
  if (::realpath(path_.c_str(), resolved) != nullptr) return open_existing(resolved);
  if (errno != ENOENT) return error(errno);
  struct stat link {};
  if (::lstat(path_.c_str(), &link) == 0) {
    // A symlink to nothing: the file it names is made.
    fd_ = Fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666));
    if (!fd_) return error(errno);
    return {};
  }
  if (path_.empty() || path_.ends_with('/')) return error(path_.empty() ? ENOENT : EISDIR);
  return open_beside(path_, nullptr);
}

// `target` has no symlinks in it.
Result<> OutputFile::open_existing(const std::string& target) {
  // Without O_NONBLOCK a FIFO would wait for its reader here.
  fd_ = Fd(::open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd_ && errno == ENXIO) {
    const auto nobody = error(ENXIO);
    return fail(nobody.value().what.substr(0, nobody.value().what.rfind(':')) +
                ": nobody reads it");
  }
  struct stat info {};
  if (!fd_ || ::fstat(fd_.get(), &info) != 0) return error(errno);
  ::fcntl(fd_.get(), F_SETFL, ::fcntl(fd_.get(), F_GETFL) & ~O_NONBLOCK);
  if (!S_ISREG(info.st_mode)) return {};
  truncate_ = true;
  if (info.st_uid != owner_.uid || info.st_nlink != 1 || is_mount_point(fd_.get())) return {};
  Fd in_place = std::move(fd_);
  if (open_beside(target, &info)) {
    truncate_ = false;
  } else {
    fd_ = std::move(in_place);
  }
  return {};
}

// The new file gets the group and mode of `like`, or what the directory and the umask give.
Result<> OutputFile::open_beside(const std::string& target, const struct stat* like) {
  const std::string name = temporary_name(target);
  fd_ = Fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd_) return error(errno);
  if (like != nullptr && (::fchown(fd_.get(), static_cast<uid_t>(-1), like->st_gid) != 0 ||
                          ::fchmod(fd_.get(), like->st_mode & 07777) != 0)) {
    const int code = errno;
    ::unlink(name.c_str());
    return error(code);
  }
  target_ = target;
  temporary_ = name;
  return {};
}

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n == 0) return EIO;
    if (n > 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      // A standard stream that someone who shares it made non-blocking.
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

Result<> OutputFile::write(std::string_view bytes) {
  if (failed_ != 0) return error(failed_);
  if (truncate_ && ::ftruncate(fd_.get(), 0) != 0) return error(failed_ = errno);
  truncate_ = false;
  if ((failed_ = write_all(fd_.get(), bytes)) != 0) return error(failed_);
  return {};
}

Result<> OutputFile::commit() {
  if (failed_ != 0) return error(failed_);
  if (!fd_) return error(EBADF);
  if (truncate_ && ::ftruncate(fd_.get(), 0) != 0) return error(errno);
  if (::close(fd_.release()) != 0) return error(failed_ = errno);
  if (temporary_.empty()) return {};
  const auto acting = TRY(ActingAs::take(owner_));
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return error(failed_ = errno);
  temporary_.clear();
  return {};
}

}  // namespace jobscope
