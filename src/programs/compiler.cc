#include "src/programs/compiler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/btf.h>

#include <array>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "src/base/fd.h"
#include "src/programs/whole_file.h"

namespace jobscope {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostMessage = 4096, kMostLines = 20;             // of what the compiler says
constexpr size_t kMostSource = 16 << 20;                           // bytes
constexpr rlim_t kMostMemory = 4ULL << 30, kMostFile = 256 << 20;  // of the compiler, bytes
constexpr int kTick = 100;                                         // ms
constexpr int kNotThere = 127, kNotStarted = 126;                  // exit codes, as a shell's

struct Header {
  const char* path;
  const char* text;
};
constexpr Header kHeaders[] = {
#define HEADER(path, text) {path, text},
#include "program_headers.inc"
#undef HEADER
};

// A folder that is gone when this is.
class Folder {
 public:
  static Result<Folder> make() {
    std::error_code error;
    std::string path = (fs::temp_directory_path(error) / "jobscope-XXXXXX").string();
    constexpr const char* kHint = "set TMPDIR to a folder that can be written";
    if (error) return fail("cannot compile: there is no folder for temporary files", kHint);
    if (!::mkdtemp(path.data())) return fail_errno("cannot compile in " + path, errno, kHint);
    return Folder(path);
  }
  Folder(Folder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Folder& operator=(Folder&&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  fs::path path_;
};

Result<> write_file(const fs::path& path, std::string_view text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) return fail_errno("cannot write " + path.string());
  return {};
}

// The kernel's types as C.
Result<> write_vmlinux(const fs::path& path, const std::string& btf_path) {
  const std::unique_ptr<btf, decltype(&btf__free)> types(
      btf_path.empty() ? btf__load_vmlinux_btf() : btf__parse(btf_path.c_str(), nullptr),
      btf__free);
  if (!types) return fail_errno("the kernel's types (BTF)");
  const std::unique_ptr<FILE, decltype(&std::fclose)> file(std::fopen(path.c_str(), "w"),
                                                           std::fclose);
  if (!file) return fail_errno("cannot write " + path.string());
  std::fputs(
      "#ifndef __VMLINUX_H__\n#define __VMLINUX_H__\n"
      "#pragma clang attribute push(__attribute__((preserve_access_index)), "
      "apply_to = record)\n",
      file.get());
  const auto print = [](void* out, const char* format, va_list args) {
    std::vfprintf(static_cast<FILE*>(out), format, args);
  };
  const std::unique_ptr<btf_dump, decltype(&btf_dump__free)> dump(
      btf_dump__new(types.get(), print, file.get(), nullptr), btf_dump__free);
  if (!dump) return fail_errno("the kernel's types (BTF)");
  for (uint32_t id = 1; id < btf__type_cnt(types.get()); ++id)
    if (const int error = btf_dump__dump_type(dump.get(), id))
      return fail_errno("the kernel's types (BTF)", -error);
  std::fputs("#pragma clang attribute pop\n#endif\n", file.get());
  if (std::fflush(file.get()) != 0 || std::ferror(file.get()))
    return fail_errno("cannot write " + path.string());
  return {};
}

struct Ended {
  int status = 0;
  std::string stopped;  // why we ended it
  std::string said;     // on standard error
};

// In the child, from here on: nothing that takes a lock.
[[noreturn]] void become(char* const* argv, int output, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // whoever ends us ends it
  if (::getppid() != parent) ::_exit(kNotStarted);
  ::setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const auto& [what, most] : {std::pair{RLIMIT_AS, kMostMemory}, {RLIMIT_FSIZE, kMostFile}}) {
    const rlimit limit{most, most};
    ::setrlimit(what, &limit);
  }
  const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (in < 0 || ::dup2(in, STDIN_FILENO) < 0 || ::dup2(output, STDOUT_FILENO) < 0 ||
      ::dup2(output, STDERR_FILENO) < 0)
    ::_exit(kNotStarted);
  ::execvp(argv[0], argv);
  ::_exit(errno == ENOENT ? kNotThere : kNotStarted);
}

// They are held back while we load (src/cli/signals.h).
bool is_told_to_end() {
  sigset_t waiting;
  sigpending(&waiting);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT})
    if (sigismember(&waiting, signal) == 1) return true;
  return false;
}

Result<Ended> run(const std::vector<std::string>& command, std::chrono::seconds most_time) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("pipe");
  const Fd from(ends[0]);
  Fd to(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return fail_errno("fork");
  if (child == 0) become(argv.data(), to.get(), parent);
  to.reset();
  Ended ended;
  const auto end = std::chrono::steady_clock::now() + most_time;
  char text[4096];
  for (pollfd polled{from.get(), POLLIN, 0};;) {
    const bool late = std::chrono::steady_clock::now() >= end;
    if (late || is_told_to_end()) {
      ended.stopped =
          late ? fmt::format("takes more than {} s", most_time.count()) : "was broken off";
      ::kill(-child, SIGKILL);
      ::kill(child, SIGKILL);  // it may have no group of its own yet
      break;
    }
    if (::poll(&polled, 1, kTick) <= 0) continue;
    const ssize_t n = ::read(from.get(), text, sizeof(text));
    if (n == 0 || (n < 0 && errno != EINTR)) break;
    if (n > 0 && ended.said.size() < kMostMessage) ended.said.append(text, static_cast<size_t>(n));
  }
  while (::waitpid(child, &ended.status, 0) < 0 && errno == EINTR) {
  }
  const int code = WIFEXITED(ended.status) ? WEXITSTATUS(ended.status) : 0;
  if (code == kNotThere) return fail_errno(command[0], ENOENT);
  if (code == kNotStarted) return fail(command[0] + " cannot be started");
  return ended;
}

// The first lines: what comes after them mostly follows from them.
std::string shortened(const std::string& said) {
  size_t end = 0;
  for (size_t line = 0; line < kMostLines && end != std::string::npos; ++line)
    end = said.find('\n', end + (line > 0 ? 1 : 0));
  std::string text = said.substr(0, end);
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

#ifdef __aarch64__
constexpr const char* kArchitecture = "-D__TARGET_ARCH_arm64";
constexpr const char* kSystemHeaders = "/usr/include/aarch64-linux-gnu";
#else
constexpr const char* kArchitecture = "-D__TARGET_ARCH_x86";
constexpr const char* kSystemHeaders = "/usr/include/x86_64-linux-gnu";
#endif

}  // namespace

Result<std::string> compile_program(const std::string& source, const std::string& btf_path,
                                    std::chrono::seconds most_time) {
  const std::string text = TRY(read_whole(source, kMostSource));
  const Folder folder = TRY(Folder::make());
  for (const Header& header : kHeaders) TRY(write_file(folder.path() / header.path, header.text));
  if (text.find("vmlinux.h") != std::string::npos)
    TRY(write_vmlinux(folder.path() / "vmlinux.h", btf_path));
  const std::string object = folder.path() / "program.bpf.o";
  std::vector<std::string> command = {"clang",
                                      "-g",
                                      "-O2",
                                      "-Wall",
                                      "-Wno-unused-function",
                                      "-Wno-visibility",
                                      "-target",
                                      "bpf",
                                      "-mcpu=v3",
                                      kArchitecture,
                                      "-I",
                                      fs::path(source).parent_path() / ".",
                                      "-I",
                                      folder.path(),
                                      "-isystem",
                                      kSystemHeaders,
                                      "-fno-color-diagnostics",
                                      "-c",
                                      source,
                                      "-o",
                                      object};
  Result<Ended> ended = run(command, most_time);
  for (int version = 19; !ended && ended.error().code == ENOENT && version >= 12; --version) {
    command[0] = fmt::format("clang-{}", version);
    ended = run(command, most_time);
  }
  if (!ended && ended.error().code == ENOENT)
    return fail(source + ": there is no clang to compile it",
                "install clang and libbpf's headers (apt install clang libbpf-dev), or bring the "
                ".bpf.o");
  if (!ended) return tl::unexpected(ended.error());
  if (!ended->stopped.empty())
    return fail(fmt::format("compiling {} {}", source, ended->stopped),
                "bring the .bpf.o, made by hand");
  if (ended->status != 0) return fail(source + " does not compile", shortened(ended->said));
  std::ifstream made(object, std::ios::binary);
  std::ostringstream bytes;
  bytes << made.rdbuf();
  if (!made) return fail_errno("cannot read what clang made of " + source);
  return std::move(bytes).str();
}

}  // namespace jobscope
