#include "src/base/caps.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <memory>
#include <string>
#include <utility>

namespace jobscope {
namespace {

struct CapFree {
  void operator()(cap_t caps) const { cap_free(caps); }
};
using Caps = std::unique_ptr<std::remove_pointer_t<cap_t>, CapFree>;

// Inode of the first user namespace (PROC_USER_INIT_INO of the kernel).
constexpr ino_t kHostUserNamespace = 0xEFFFFFFD;
// The same for PID namespaces (PROC_PID_INIT_INO).
constexpr ino_t kHostPidNamespace = 0xEFFFFFFC;
// A hint is read by a person: longer commands are cut.
constexpr size_t kLongCommand = 400;

Result<Caps> current() {
  Caps caps(cap_get_proc());
  if (!caps) return fail_errno("cannot read capabilities");
  return caps;
}

Result<> set_effective(std::span<const Capability> list, cap_flag_value_t value) {
  Caps caps = TRY(current());
  if (list.empty()) return {};
  if (cap_set_flag(caps.get(), CAP_EFFECTIVE, static_cast<int>(list.size()), list.data(), value) !=
          0 ||
      cap_set_proc(caps.get()) != 0)
    return fail_errno(value == CAP_SET ? "cannot raise capabilities" : "cannot lower capabilities");
  return {};
}

std::string joined(std::span<const NeededCapability> list, bool required, const char* separator) {
  std::string out;
  for (const NeededCapability& need : list)
    if (need.required == required)
      out += (out.empty() ? "" : separator) + capability_name(need.value);
  return out;
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// A word as one types it in a shell.
std::string quoted(std::string_view word) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("%+,-./:=@_").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return std::string(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string command(const PrivilegeFacts& facts) {
  std::string out = quoted(facts.binary);
  for (size_t i = 1; i < facts.argv.size(); ++i) {
    const std::string word = quoted(facts.argv[i]);
    if (out.size() + word.size() > kLongCommand) return out + " ...";
    out += " " + word;
  }
  return out;
}

}  // namespace

std::vector<Capability> kept_capabilities(uid_t who) {
  std::vector<Capability> list;
  list.reserve(kWatchCapabilities.size());
  for (const NeededCapability& need : kWatchCapabilities) list.push_back(need.value);
  if (who == 0) list.insert(list.end(), {CAP_KILL, CAP_DAC_OVERRIDE, CAP_FOWNER});
  return list;
}

std::string capability_name(Capability capability) {
  const std::unique_ptr<char, decltype(&cap_free)> text(cap_to_name(capability),
                                                        [](void* p) { return cap_free(p); });
  std::string name = text ? text.get() : std::to_string(capability);
  if (!name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "cap_" + name;
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

bool has_capability(Capability capability) {
  const Capability list[] = {capability};
  return missing_of(list).empty();
}

std::vector<Capability> missing_of(std::span<const Capability> wanted) {
  const Caps caps(cap_get_proc());
  std::vector<Capability> missing;
  for (const Capability capability : wanted) {
    cap_flag_value_t value = CAP_CLEAR;
    // A capability that the kernel does not know gives an error: it is missing as well.
    if (!caps || cap_get_flag(caps.get(), capability, CAP_EFFECTIVE, &value) != 0 ||
        value == CAP_CLEAR)
      missing.push_back(capability);
  }
  return missing;
}

Result<> raise(std::span<const Capability> list) { return set_effective(list, CAP_SET); }
Result<> lower(std::span<const Capability> list) { return set_effective(list, CAP_CLEAR); }

Result<> drop_all_but(std::span<const Capability> keep) {
  const Caps before = TRY(current());
  const Caps after(cap_init());
  if (!after) return fail_errno("cannot drop capabilities");
  for (const Capability capability : keep) {
    cap_flag_value_t permitted = CAP_CLEAR;
    if (cap_get_flag(before.get(), capability, CAP_PERMITTED, &permitted) != 0) continue;
    if (permitted == CAP_CLEAR) continue;
    cap_set_flag(after.get(), CAP_PERMITTED, 1, &capability, CAP_SET);
    cap_set_flag(after.get(), CAP_EFFECTIVE, 1, &capability, CAP_SET);
  }
  // The kernel takes out of the ambient set what is no longer inheritable.
  if (cap_set_proc(after.get()) != 0) return fail_errno("cannot drop capabilities");
  return {};
}

PrivilegeFacts PrivilegeFacts::of_this_process(std::span<const char* const> argv) {
  PrivilegeFacts facts;
  for (const char* word : argv) facts.argv.emplace_back(word);
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  if (length > 0)
    facts.binary.assign(path, static_cast<size_t>(length));
  else
    facts.binary = facts.argv.empty() ? "jobscope" : facts.argv[0];
  facts.uid = ::geteuid();
  struct stat ns {};
  facts.user_namespace = ::stat("/proc/self/ns/user", &ns) == 0 && ns.st_ino != kHostUserNamespace;
  facts.pid_namespace = ::stat("/proc/self/ns/pid", &ns) == 0 && ns.st_ino != kHostPidNamespace;
  facts.no_new_privileges = ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
  struct statvfs fs {};
  facts.nosuid = ::statvfs(facts.binary.c_str(), &fs) == 0 && (fs.f_flag & ST_NOSUID) != 0;
  return facts;
}

Error lacking_privileges(const PrivilegeFacts& facts) {
  Error error;
  error.code = EPERM;
  error.what = "eBPF programs need " + joined(kWatchCapabilities, true, " and ") + " (and " +
               joined(kWatchCapabilities, false, ", ") + " to name files and libraries)";
  if (facts.user_namespace) {
    error.hint =
        "this is a user namespace, as in a rootless container: its root is not the machine's.\n"
        "run jobscope outside of it, as root or with sudo";
  } else if (facts.uid == 0) {
    error.hint = "root lacks them here, as in a container: start it with --privileged --pid=host,";
    error.hint += "\nor with";
    for (const NeededCapability& need : kWatchCapabilities)
      error.hint += " --cap-add=" + capability_name(need.value).substr(4);
  } else if (facts.no_new_privileges) {
    error.hint =
        "no_new_privs is set here, so neither sudo nor file capabilities work:\n"
        "run jobscope from another session, or start this container or service without it";
  } else {
    std::string names;
    for (const NeededCapability& need : kWatchCapabilities)
      names += (names.empty() ? "" : ",") + lower_case(capability_name(need.value));
    const bool runs_a_job = facts.argv.size() > 1 && facts.argv[1] == "run";
    error.hint = "run it as: sudo " + command(facts) +
                 (runs_a_job ? "   (the job still runs as you)\n" : "\n");
    if (facts.nosuid)
      error.hint += "(setcap cannot help: " + facts.binary + " is on a file system mounted nosuid)";
    else
      error.hint += "or once:   sudo setcap " + names + "=ep " + quoted(facts.binary);
  }
  return error;
}

namespace {

// Whether something forbids what the kernel would permit. To nonsense the kernel says that it is
// nonsense, to those that have CAP_BPF and CAP_PERFMON; a filter of system calls still says no.
bool is_filtered(long call) {
  return ::syscall(call, -1L, nullptr, 0L, 0L, 0L) < 0 && (errno == EPERM || errno == ENOSYS);
}

}  // namespace

Result<> check_bpf_privileges(std::span<const char* const> argv) {
  const PrivilegeFacts facts = PrivilegeFacts::of_this_process(argv);
  std::vector<Capability> required;
  for (const NeededCapability& need : kWatchCapabilities)
    if (need.required) required.push_back(need.value);
  if (!missing_of(required).empty() || facts.user_namespace)
    return tl::unexpected(lacking_privileges(facts));
  for (const auto& [call, name] :
       {std::pair(SYS_bpf, "bpf()"), std::pair(SYS_perf_event_open, "perf_event_open()")})
    if (is_filtered(call))
      return fail(
          std::string(name) + " is forbidden here, as by the seccomp profile of a container",
          "start it with a profile that permits it, as docs/containers.md says, or with "
          "--security-opt seccomp=unconfined");
  return {};
}

Result<> check_watch_privileges(std::span<const char* const> argv) {
  TRY(check_bpf_privileges(argv));
  if (PrivilegeFacts::of_this_process(argv).pid_namespace)
    return fail("processes have other numbers here than in the kernel: this is a PID namespace",
                "start this container with --pid=host (Kubernetes: hostPID: true)");
  return {};
}

}  // namespace jobscope
