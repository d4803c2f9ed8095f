#include "src/programs/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "src/base/fd.h"
#include "src/programs/compiler.h"
#include "src/programs/whole_file.h"

namespace jobscope {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostYaml = 1 << 20, kMostObject = 64 << 20;  // bytes

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= 128 && name.front() != '.' && name.front() != '-' &&
         name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

constexpr std::string_view kNewProgram = R"(// @NAME@: counts the files that each command opens.
//
// Start it with:  jobscope programs --config.dir . --config.names @NAME@
// and see it with: curl -s localhost:9435/metrics | grep @IDENT@
//
// jobscope compiles this file itself where clang is installed. By hand, in one line:
//   bpftool btf dump file /sys/kernel/btf/vmlinux format c >vmlinux.h; clang -g -O2 -target bpf -c @NAME@.bpf.c -o @NAME@.bpf.o
#include "vmlinux.h"  // the running kernel's types: jobscope writes it
#include <bpf/bpf_helpers.h>

// The key of the map becomes the labels of the metric: the names of its members are the names of
// the labels, and arrays of char are text. Zero it before you fill it, padding included.
struct opener {
  char comm[16];
};

// A map and a metric belong together by their name. Values are u64. When the map is full, further
// keys are not counted: choose max_entries for the number of label sets that you expect.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, struct opener);
  __type(value, u64);
} @IDENT@_total SEC(".maps");

// The section says where the program is attached: here to a tracepoint. `jobscope check` lists
// which kinds of sections this kernel takes.
SEC("tracepoint/syscalls/sys_enter_openat")
int on_openat(void *ctx) {
  struct opener key = {};
  bpf_get_current_comm(key.comm, sizeof(key.comm));
  u64 *count = bpf_map_lookup_elem(&@IDENT@_total, &key);
  if (!count) {
    u64 zero = 0;
    bpf_map_update_elem(&@IDENT@_total, &key, &zero, BPF_NOEXIST);
    count = bpf_map_lookup_elem(&@IDENT@_total, &key);
    if (!count) return 0;  // the map is full
  }
  __sync_fetch_and_add(count, 1);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";
)";

constexpr std::string_view kNewConfig = R"(# Files that each command opens.
metrics:
  counters:
    # The name of the map; the metric is exported as ebpf_exporter_@IDENT@_total.
    - name: @IDENT@_total
      help: Files opened by command
      # Without `labels` every member of the key's struct is one. To choose, or to decode:
      # labels:
      #   - name: comm            # a member of the key; size and decoders are known from its type
      #     decoders:
      #       - name: string
      #       - name: regexp      # only these, the rest is left out
      #         regexps: ["^python"]
      # A member that is a process (pid, tgid) or a cgroup's id can name its job instead:
      #   - name: tgid
      #     job: tgid             # becomes the labels job, user, role, index, instance
)";

std::string filled(std::string_view text, const std::string& name) {
  std::string identifier = name;
  std::replace_if(
      identifier.begin(), identifier.end(),
      [](unsigned char c) { return !std::isalnum(c) && c != '_'; }, '_');
  std::string out;
  while (!text.empty()) {
    const size_t mark = std::min(text.find('@'), text.size());
    out += text.substr(0, mark);
    text.remove_prefix(mark);
    if (text.empty()) break;
    const size_t end = text.find('@', 1);
    out += text.substr(1, end - 1) == "NAME" ? name : identifier;
    text.remove_prefix(end + 1);
  }
  return out;
}

Result<> write_new_file(const std::string& path, const std::string& text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file) return fail_errno("cannot write " + path);
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail_errno("cannot write " + path);
  return {};
}

}  // namespace

Result<ProgramFiles> read_program_files(const std::string& folder, const std::string& name,
                                        const std::string& btf_path) {
  if (!is_plain_name(name))
    return fail(fmt::format("'{}' is no name of a configuration", name),
                "it is the name of a file in the folder of --config.dir, without .yaml");
  ProgramFiles files;
  const std::string base = folder + "/" + name;
  files.path = base + ".yaml";
  auto yaml = read_whole(files.path, kMostYaml);
  if (!yaml && yaml.error().code == ENOENT)
    yaml.error().hint = "'jobscope programs list' shows those that come along";
  files.config = TRY(parse_program_config(name, TRY(std::move(yaml)), files.path));
  const std::string object = base + ".bpf.o", source = base + ".bpf.c";
  std::error_code ignored;
  if (!fs::exists(object, ignored) && fs::exists(source, ignored))
    files.object = TRY(compile_program(source, btf_path));
  else
    files.object = TRY(read_whole(object, kMostObject));
  return files;
}

std::vector<ProgramSummary> list_programs(const std::string& folder) {
  std::vector<ProgramSummary> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".yaml") continue;
    ProgramSummary summary{entry.path().stem().string(), {}};
    const Result<std::string> text = read_whole(entry.path(), kMostYaml);
    if (!text) continue;
    if (text->starts_with('#')) summary.about = text->substr(0, text->find('\n'));
    summary.about.erase(0, summary.about.find_first_not_of("# "));
    found.push_back(std::move(summary));
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

Result<> write_new_program(const std::string& folder, const std::string& name) {
  const bool good = is_plain_name(name) && std::all_of(name.begin(), name.end(), [](char c) {
                      return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
                    });
  if (!good || std::isdigit(static_cast<unsigned char>(name[0])))
    return fail(fmt::format("'{}' is no name of a program", name),
                "letters, digits, - and _, the first a letter");
  const std::string base = folder + "/" + name;
  std::error_code ignored;
  for (const char* suffix : {".bpf.c", ".yaml"})
    if (fs::exists(base + suffix, ignored))
      return fail(base + suffix + " is there already", "choose another name");
  TRY(write_new_file(base + ".bpf.c", filled(kNewProgram, name)));
  return write_new_file(base + ".yaml", filled(kNewConfig, name));
}

}  // namespace jobscope
