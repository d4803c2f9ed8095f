#include "src/base/caller.h"

#include <grp.h>
#include <pwd.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <unordered_set>

namespace jobscope {
namespace {

using Environment = std::vector<std::string>;

// sudo runs a monitor under a pty, and itself above it.
constexpr int kMaxAncestors = 4;

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

std::optional<std::string_view> find(const Environment& environment, std::string_view name) {
  for (const std::string_view variable : environment)
    if (variable.size() > name.size() && variable[name.size()] == '=' && variable.starts_with(name))
      return variable.substr(name.size() + 1);
  return std::nullopt;
}

// Adds the variables, each in place of the one of the same name.
void overlay(Environment& environment, const Environment& variables) {
  std::unordered_set<std::string_view> names;
  for (const std::string& variable : variables) names.insert(name_of(variable));
  std::erase_if(environment, [&](const std::string& v) { return names.contains(name_of(v)); });
  environment.insert(environment.end(), variables.begin(), variables.end());
}

// A block of NUL-terminated NAME=value.
Environment split(std::string_view block) {
  Environment out;
  while (!block.empty()) {
    const std::string_view variable = block.substr(0, block.find('\0'));
    if (variable.find('=') != std::string_view::npos) out.emplace_back(variable);
    block.remove_prefix(std::min(block.size(), variable.size() + 1));
  }
  return out;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<uint32_t> number(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == UINT32_MAX) return {};
  return value;
}

// Our environment as the kernel gave it. Of a program with file capabilities ld.so removes
// LD_LIBRARY_PATH, LD_PRELOAD, TMPDIR and others before main(): right for us, but the job, which
// has no privileges, must get them. ld.so takes them out of the list only; their text is still
// there.
Environment environment_at_start() {
  Environment out;
  if (::getauxval(AT_SECURE) != 0) {
    const std::string stat = read_file("/proc/self/stat");
    std::string_view rest = stat;
    rest.remove_prefix(std::min(rest.size(), rest.rfind(')') + 1));
    std::array<uintptr_t, 2> range{};  // fields 50 and 51: env_start, env_end
    for (int field = 2; field <= 51 && !rest.empty(); ++field) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      if (field >= 50) std::from_chars(word.data(), word.data() + word.size(), range[field - 50]);
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    }
    if (range[0] != 0 && range[0] < range[1])
      return split({reinterpret_cast<const char*>(range[0]), range[1] - range[0]});
  }
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    out.emplace_back(*variable);
  return out;
}

// Fills name, home and shell from the user database, or with the best that is known without it. Two
// names may share one uid: `known_name` tells which.
void look_up(Caller& caller, const std::string& known_name) {
  const passwd* entry = known_name.empty() ? nullptr : ::getpwnam(known_name.c_str());
  if (entry == nullptr || entry->pw_uid != caller.id.uid) entry = ::getpwuid(caller.id.uid);
  if (entry != nullptr)
    caller.name = entry->pw_name;
  else
    caller.name = known_name.empty() ? std::to_string(caller.id.uid) : known_name;
  caller.home = entry != nullptr && *entry->pw_dir != '\0' ? entry->pw_dir : "/";
  caller.shell = entry != nullptr && *entry->pw_shell != '\0' ? entry->pw_shell : "/bin/sh";
}

std::vector<gid_t> groups_of(const Caller& caller) {
  int count = 64;
  std::vector<gid_t> groups(static_cast<size_t>(count));
  while (::getgrouplist(caller.name.c_str(), caller.id.gid, groups.data(), &count) < 0)
    groups.resize(static_cast<size_t>(count));
  groups.resize(static_cast<size_t>(count));
  return groups;
}

// Variables whose value belongs to who one is and to the session, not to what one wants: sudo and
// PAM set them for root.
bool personal(std::string_view name) {
  static constexpr std::array<std::string_view, 18> kPersonal = {"HOME",
                                                                 "USER",
                                                                 "LOGNAME",
                                                                 "USERNAME",
                                                                 "SHELL",
                                                                 "MAIL",
                                                                 "PATH",
                                                                 "PWD",
                                                                 "OLDPWD",
                                                                 "SHLVL",
                                                                 "_",
                                                                 "DOAS_USER",
                                                                 "PKEXEC_UID",
                                                                 "XAUTHORITY",
                                                                 "DBUS_SESSION_BUS_ADDRESS",
                                                                 "XDG_RUNTIME_DIR",
                                                                 "XDG_SEAT",
                                                                 "XDG_VTNR"};
  return std::ranges::find(kPersonal, name) != kPersonal.end() || name.starts_with("SUDO_") ||
         name.starts_with("XDG_SESSION_");
}

pid_t parent_of(const std::string& proc, pid_t pid) {
  std::ifstream status(proc + "/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("PPid:\t")) return static_cast<pid_t>(number(line.substr(6)).value_or(0));
  return 0;
}

// What the environment says about a program that made us root.
struct Through {
  std::string program;
  std::optional<uint32_t> uid, gid;
  std::string name;
};

// Empty program: nobody but ourselves.
Result<Through> who_called(const Environment& environment) {
  Through through;
  if (const auto uid = find(environment, "SUDO_UID")) {
    through = {"sudo", number(*uid), number(find(environment, "SUDO_GID").value_or("")),
               std::string(find(environment, "SUDO_USER").value_or(""))};
    if (!through.uid || !through.gid)
      return fail("SUDO_UID and SUDO_GID do not say who called sudo",
                  "unset SUDO_UID to run the job as root");
  } else if (const auto pkexec_uid = find(environment, "PKEXEC_UID")) {
    through = {"pkexec", number(*pkexec_uid), {}, ""};
    if (!through.uid) return fail("PKEXEC_UID does not say who called pkexec");
  } else if (const auto user = find(environment, "DOAS_USER")) {
    through.program = "doas";
    through.name = *user;
    const passwd* entry = ::getpwnam(through.name.c_str());
    if (entry == nullptr) return fail("DOAS_USER: there is no user " + through.name);
    through.uid = entry->pw_uid;
  }
  if (through.uid && !through.gid) {
    const passwd* entry = ::getpwuid(*through.uid);
    through.gid = entry != nullptr ? entry->pw_gid : *through.uid;
  }
  return through;
}

}  // namespace

std::optional<std::string_view> Caller::variable(std::string_view variable) const {
  return find(environment, variable);
}

CallerSources CallerSources::of_this_process() {
  CallerSources sources;
  sources.parent = ::getppid();
  sources.id = {::getuid(), ::getgid(), {}};
  const int count = ::getgroups(0, nullptr);
  sources.id.groups.resize(static_cast<size_t>(std::max(count, 0)));
  ::getgroups(count, sources.id.groups.data());
  sources.environment = environment_at_start();
  return sources;
}

Caller this_process(const CallerSources& sources) {
  Caller caller;
  caller.id = sources.id;
  caller.environment = sources.environment;
  look_up(caller, "");
  if (const auto home = caller.variable("HOME")) caller.home = *home;
  if (const auto shell = caller.variable("SHELL")) caller.shell = *shell;
  return caller;
}

Result<Caller> find_caller(const CallerSources& sources) {
  // Only root can have been made root by sudo; anyone can set SUDO_UID.
  if (sources.id.uid != 0) return this_process(sources);
  const Through through = TRY(who_called(sources.environment));
  if (through.program.empty()) return this_process(sources);

  Caller caller;
  caller.through = through.program;
  caller.id.uid = *through.uid;
  caller.id.gid = *through.gid;
  look_up(caller, through.name);
  caller.id.groups = groups_of(caller);

  // The topmost of the sudo processes directly above us.
  pid_t from = 0;
  pid_t pid = sources.parent;
  for (int i = 0; i < kMaxAncestors && pid > 1; ++i, pid = parent_of(sources.proc, pid)) {
    const std::string comm = read_file(sources.proc + "/" + std::to_string(pid) + "/comm");
    if (comm != through.program + "\n") break;
    from = pid;
    if (i == 0) caller.through_parent = true;
  }
  if (from != 0)
    caller.environment = split(read_file(sources.proc + "/" + std::to_string(from) + "/environ"));
  if (!caller.environment.empty()) {
    Environment wanted = sources.environment;
    std::erase_if(wanted, [](const std::string& v) { return personal(name_of(v)); });
    overlay(caller.environment, wanted);
    return caller;
  }
  caller.environment = sources.environment;
  std::erase_if(caller.environment, [](std::string_view variable) {
    return personal(name_of(variable)) && !variable.starts_with("PATH=") &&
           !variable.starts_with("PWD=");
  });
  overlay(caller.environment, {"HOME=" + caller.home, "USER=" + caller.name,
                               "LOGNAME=" + caller.name, "SHELL=" + caller.shell});
  if (!caller.variable("PATH"))
    caller.environment.emplace_back("PATH=/usr/local/bin:/usr/bin:/bin");
  return caller;
}

Result<> become(const Identity& who, std::span<const Capability> keep) {
  if (::getuid() != who.uid || ::geteuid() != who.uid || ::getegid() != who.gid) {
    const std::string failed = "cannot become user " + std::to_string(who.uid);
    if (::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 ||
        ::setgroups(who.groups.size(), who.groups.data()) != 0 ||
        ::setresgid(who.gid, who.gid, who.gid) != 0 || ::setresuid(who.uid, who.uid, who.uid) != 0)
      return fail_errno(failed);
    ::prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
  }
  return drop_all_but(keep);
}

}  // namespace jobscope
