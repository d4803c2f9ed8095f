#include "src/base/cgroup_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <filesystem>

namespace jobscope {
namespace {

constexpr uint64_t kWalkAgain = 5'000'000'000;  // ns: walking 5,000 cgroups takes 30 ms
constexpr uint32_t kWatched =
    IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW;

std::string below(const std::string& path, std::string_view name) {
  std::string child = path == "/" ? "" : path;
  child += '/';
  return child += name;
}

}  // namespace

std::string unified_hierarchy(const std::string& cgroups) {
  for (const std::string& root : {cgroups, cgroups + "/unified"}) {
    std::error_code error;
    if (std::filesystem::exists(root + "/cgroup.controllers", error)) return root;
  }
  return {};
}

Result<std::unique_ptr<CgroupTree>> CgroupTree::open(std::string root, Limits limits) {
  Fd inotify(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify)
    return fail_errno("watching cgroups", errno,
                      "the limit is in /proc/sys/fs/inotify/max_user_instances");
  struct stat info {};
  if (::stat(root.c_str(), &info) != 0)
    return fail_errno("reading " + root, errno,
                      "the unified hierarchy of cgroups is mounted there");
  std::unique_ptr<CgroupTree> tree(new CgroupTree(std::move(root), limits, std::move(inotify)));
  tree->walk();
  tree->events_.clear();
  return tree;
}

std::string CgroupTree::path(uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(id);
  return found == known_.end() ? std::string() : found->second.path;
}

std::vector<std::pair<uint64_t, std::string>> CgroupTree::living() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<uint64_t, std::string>> found;
  for (const auto& [id, known] : known_)
    if (known.removal == 0) found.emplace_back(id, known.path);
  return found;
}

uint64_t CgroupTree::unwatched() const {
  const std::lock_guard lock(mutex_);
  return unwatched_;
}

std::vector<CgroupTree::Event> CgroupTree::drain(uint64_t now) {
  alignas(inotify_event) std::array<char, 64 << 10> buffer;
  for (;;) {
    const ssize_t size = ::read(inotify_.get(), buffer.data(), buffer.size());
    if (size <= 0) break;
    for (ssize_t at = 0; at < size;) {
      inotify_event event;
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* name = buffer.data() + at + sizeof event;
      handle(event.wd, event.mask, std::string_view(name, ::strnlen(name, event.len)));
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
  }
  if (lost_events_ || (unwatched() > 0 && now - walked_ >= kWalkAgain)) {
    walked_ = now;
    walk();
  }
  return std::exchange(events_, {});
}

void CgroupTree::handle(int watch, uint32_t mask, std::string_view name) {
  if (mask & IN_Q_OVERFLOW) lost_events_ = true;
  if (mask & IN_IGNORED) watches_.erase(watch);
  const auto watched = watches_.find(watch);
  if (!(mask & IN_ISDIR) || name.empty() || watched == watches_.end()) return;
  const std::string path = below(watched->second, name);
  if (mask & (IN_DELETE | IN_MOVED_FROM)) gone(path);
  if (mask & (IN_CREATE | IN_MOVED_TO)) visit(path);
}

// What is new since the last walk is added, what is not there any more removed.
void CgroupTree::walk() {
  lost_events_ = false;
  {
    const std::lock_guard lock(mutex_);
    unwatched_ = 0;
  }
  seen_.emplace();
  watches_.clear();  // the ends of some may be among the news that were lost
  visit("/");
  const std::map<std::string, uint64_t> before = paths_;
  for (auto at = before.rbegin(); at != before.rend(); ++at)
    if (!seen_->contains(at->first)) remove(at->first, at->second);
  seen_.reset();
}

// A cgroup and all below it. It is watched first and then listed: what is made meanwhile is met at
// least once.
void CgroupTree::visit(const std::string& path) {
  std::vector<std::string> left = {path};
  while (!left.empty()) {
    const std::string next = std::move(left.back());
    left.pop_back();
    for (std::string& child : enter(next)) left.push_back(std::move(child));
  }
}

std::vector<std::string> CgroupTree::enter(const std::string& path) {
  const std::string folder = full(path);
  if (paths_.size() >= limits_.living && !paths_.contains(path)) {
    overlook();
    return {};
  }
  const int watch = ::inotify_add_watch(inotify_.get(), folder.c_str(), kWatched);
  const bool watchable = watch >= 0 || errno == ENOENT;  // ENOENT: gone, and its end will be told
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) {
    const bool no_cgroup = errno == ENOENT || errno == ENODEV || errno == ENOTDIR || errno == ELOOP;
    if (!no_cgroup) overlook();
    return {};
  }
  if (!watchable) overlook();
  if (watch >= 0) watches_[watch] = path;
  add(info.st_ino, path);
  // Two links, of its parent and itself: none of a directory below it.
  std::vector<std::string> children;
  if (info.st_nlink == 2) return children;
  Fd list(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  DIR* directory = list ? ::fdopendir(list.get()) : nullptr;
  if (directory == nullptr) {
    overlook();
    return children;
  }
  (void)list.release();  // closedir() closes it
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN))
      children.push_back(below(path, name));
  }
  ::closedir(directory);
  return children;
}

void CgroupTree::overlook() {
  const std::lock_guard lock(mutex_);
  ++unwatched_;
}

void CgroupTree::add(uint64_t id, const std::string& path) {
  if (seen_) seen_->insert(path);
  const auto old = paths_.find(path);
  if (old != paths_.end() && old->second == id) return;
  if (old != paths_.end()) gone(path);  // another one of this name
  paths_[path] = id;
  {
    const std::lock_guard lock(mutex_);
    known_[id] = {path, 0};
  }
  events_.push_back({Event::added, id, path});
}

// The cgroup at this path, with all that may still be known below it, unless it is there: then the
// news is of one before it.
void CgroupTree::gone(const std::string& path) {
  const auto at = paths_.find(path);
  if (at == paths_.end()) return;
  struct stat info {};
  if (::stat(full(path).c_str(), &info) == 0 && info.st_ino == at->second) return;
  std::vector<std::pair<std::string, uint64_t>> all = {*at};
  const std::string prefix = path + "/";
  for (auto next = paths_.lower_bound(prefix);
       next != paths_.end() && next->first.starts_with(prefix); ++next)
    all.emplace_back(*next);
  for (auto each = all.rbegin(); each != all.rend(); ++each) remove(each->first, each->second);
}

void CgroupTree::remove(const std::string& path, uint64_t id) {
  paths_.erase(path);
  events_.push_back({Event::removed, id, path});
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(id);
  if (found == known_.end() || found->second.path != path) return;  // its number is used again
  found->second.removal = ++last_removal_;
  removals_.emplace_back(id, last_removal_);
  while (removals_.size() > limits_.removed) {
    const auto [oldest, removal] = removals_.front();
    removals_.pop_front();
    const auto known = known_.find(oldest);
    if (known != known_.end() && known->second.removal == removal) known_.erase(known);
  }
}

}  // namespace jobscope
