#include "src/programs/compiler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/btf.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "src/base/fd.h"

extern char** environ;

namespace jobscope {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostMessage = 4096;  // bytes of what the compiler says

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
    if (error || !::mkdtemp(path.data()))
      return fail_errno("cannot make a folder to compile in: " + path);
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
  if (std::ferror(file.get())) return fail("cannot write " + path.string());
  return {};
}

struct Ended {
  int status = 0;
  std::string said;  // on standard error
};

Result<Ended> run(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("pipe");
  const Fd from(ends[0]);
  Fd to(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to.get(), STDERR_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, to.get(), STDOUT_FILENO);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  to.reset();
  if (error) return fail_errno(command[0], error);
  Ended ended;
  char text[4096];
  for (ssize_t n = 0; (n = ::read(from.get(), text, sizeof(text))) != 0;) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    if (ended.said.size() < kMostMessage) ended.said.append(text, static_cast<size_t>(n));
  }
  while (::waitpid(child, &ended.status, 0) < 0 && errno == EINTR) {
  }
  return ended;
}

#ifdef __aarch64__
constexpr const char* kArchitecture = "-D__TARGET_ARCH_arm64";
constexpr const char* kSystemHeaders = "/usr/include/aarch64-linux-gnu";
#else
constexpr const char* kArchitecture = "-D__TARGET_ARCH_x86";
constexpr const char* kSystemHeaders = "/usr/include/x86_64-linux-gnu";
#endif

}  // namespace

Result<std::string> compile_program(const std::string& source, const std::string& btf_path) {
  const Folder folder = TRY(Folder::make());
  for (const Header& header : kHeaders) TRY(write_file(folder.path() / header.path, header.text));
  std::ifstream text(source, std::ios::binary);
  std::ostringstream content;
  content << text.rdbuf();
  if (content.str().find("vmlinux.h") != std::string::npos)
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
  Result<Ended> ended = run(command);
  for (int version = 19; !ended && ended.error().code == ENOENT && version >= 12; --version) {
    command[0] = fmt::format("clang-{}", version);
    ended = run(command);
  }
  if (!ended && ended.error().code == ENOENT)
    return fail(source + ": there is no clang to compile it",
                "install clang and libbpf's headers (apt install clang libbpf-dev), or bring the "
                ".bpf.o");
  if (!ended) return tl::unexpected(ended.error());
  if (ended->status != 0) {
    std::string said = ended->said.substr(0, ended->said.find_last_not_of('\n') + 1);
    return fail(source + " does not compile", std::move(said));
  }
  std::ifstream made(object, std::ios::binary);
  std::ostringstream bytes;
  bytes << made.rdbuf();
  if (!made) return fail_errno("cannot read what clang made of " + source);
  return std::move(bytes).str();
}

}  // namespace jobscope
