#include "src/jobs/process_files.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "src/base/fd.h"

namespace jobscope {
namespace {

constexpr size_t kSmallFile = 64 << 10;
constexpr size_t kCommandLine = 32 << 10;
constexpr size_t kEnvironment = 1 << 20;
constexpr size_t kMaps = 16 << 20;
constexpr uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD, linux/sched.h

// What their own libraries are called; libpython alone says nothing.
constexpr std::array<std::string_view, 9> kFrameworkLibraries = {
    "libmindspore",              // MindSpore
    "libtorch",                  // PyTorch
    "libtensorflow",             // TensorFlow
    "_pywrap_tensorflow",        // TensorFlow before 2.13
    "libjax_common",             // JAX
    "xla_extension",             // JAX before 0.5
    "libpjrt",                   // XLA's devices
    "libpaddle",                 // PaddlePaddle
    "libonnxruntime_providers",  // ONNX Runtime with an accelerator
};

template <class T>
bool parse(std::string_view text, T& number) {
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
}

// Calls f with the next piece of the file until it returns false.
template <class F>
bool read_pieces(const std::string& path, size_t limit, F f) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return false;
  std::array<char, 16384> piece;
  for (size_t left = limit; left > 0;) {
    const ssize_t got = ::read(file.get(), piece.data(), std::min(left, piece.size()));
    if (got < 0) return left != limit;  // the process went away in the middle
    if (got == 0 || !f(std::string_view(piece.data(), static_cast<size_t>(got)))) break;
    left -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

std::optional<std::string> read_start(const std::string& path, size_t limit) {
  std::string text;
  const bool read = read_pieces(path, limit, [&](std::string_view piece) {
    text += piece;
    return true;
  });
  return read ? std::optional(std::move(text)) : std::nullopt;
}

// pid (comm) state ppid pgrp session …; comm may hold anything, newlines and ')' too
std::optional<ThreadStat> parse_thread_stat(const std::string& text) {
  enum : size_t { kParent = 4, kSession = 6, kFlags = 9, kStart = 22, kStack = 28 };  // proc(5)
  const size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  ThreadStat stat;
  stat.comm = text.substr(open + 1, close - open - 1);
  std::string_view rest = std::string_view(text).substr(close + 1);
  uint64_t flags = 0;
  size_t field = 2;
  bool complete = false;
  while (field < kStack) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    if (rest.empty()) break;
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(word.size());
    switch (++field) {
      case kParent: parse(word, stat.parent); break;
      case kSession: parse(word, stat.session); break;
      case kFlags: parse(word, flags); break;
      case kStart: complete = parse(word, stat.start); break;
      case kStack: parse(word, stat.stack); break;
      default: break;
    }
  }
  stat.kernel = (flags & kKernelThread) != 0;
  return complete ? std::optional(std::move(stat)) : std::nullopt;
}

bool is_framework_library(std::string_view file) {
  return std::any_of(kFrameworkLibraries.begin(), kFrameworkLibraries.end(),
                     [&](std::string_view library) { return file.starts_with(library); });
}

std::string ProcessFiles::path(uint32_t pid, const char* file) const {
  return proc_ + "/" + std::to_string(pid) + "/" + file;
}

// The file of the process would sum up all its threads, under a lock that they need.
std::optional<ThreadStat> ProcessFiles::stat(uint32_t tid) const {
  const std::string file = "task/" + std::to_string(tid) + "/stat";
  const auto text = read_start(path(tid, file.c_str()), kSmallFile);
  return text ? parse_thread_stat(*text) : std::nullopt;
}

std::optional<ProcessFiles::Owner> ProcessFiles::owner(uint32_t tid) const {
  const auto text = read_start(path(tid, "status"), kSmallFile);
  if (!text) return std::nullopt;
  Owner owner;
  bool process = false, user = false;
  // The name of the process is in the first line; the kernel escapes newlines in it.
  const auto value = [&](std::string_view key, uint32_t& number) {
    const size_t at = text->find(key);
    return at != std::string::npos &&
           parse(std::string_view(*text).substr(at + key.size()), number);
  };
  process = value("\nTgid:\t", owner.process);
  user = value("\nUid:\t", owner.user);
  return process && user ? std::optional(owner) : std::nullopt;
}

std::vector<std::string> ProcessFiles::command_line(uint32_t pid) const {
  const std::string text = read_start(path(pid, "cmdline"), kCommandLine).value_or("");
  std::vector<std::string> argv;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\0', at), text.size());
    argv.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return argv;
}

std::string ProcessFiles::environment(uint32_t pid) const {
  std::string text = read_start(path(pid, "environ"), kEnvironment).value_or("");
  if (text.size() == kEnvironment) text.resize(text.rfind('\0') + 1);  // npos: to nothing
  return text;
}

std::string ProcessFiles::cgroups(uint32_t pid) const {
  return read_start(path(pid, "cgroup"), kSmallFile).value_or("");
}

bool ProcessFiles::maps_framework(uint32_t pid) const {
  bool found = false;
  std::string line;  // the start of one, from the piece before
  read_pieces(path(pid, "maps"), kMaps, [&](std::string_view piece) {
    for (size_t end; (end = piece.find('\n')) != std::string_view::npos && !found;) {
      line += piece.substr(0, end);
      piece.remove_prefix(end + 1);
      const size_t slash = line.rfind('/');
      if (slash != std::string::npos)
        found = is_framework_library(std::string_view(line).substr(slash + 1));
      line.clear();
    }
    line += piece;
    return !found;
  });
  return found;
}

std::vector<uint32_t> ProcessFiles::processes() const {
  std::vector<uint32_t> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(proc_, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename();
    uint32_t pid = 0;
    if (name.find_first_not_of("0123456789") == std::string::npos && parse(name, pid))
      found.push_back(pid);
  }
  return found;
}

std::string ProcessFiles::host_name() const {
  std::string name = read_start(proc_ + "/sys/kernel/hostname", kSmallFile).value_or("");
  return name.substr(0, name.find('\n'));
}

}  // namespace jobscope
