#include "src/programs/program_object.h"

#include <linux/perf_event.h>
#include <fmt/format.h>
#include <net/if.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <set>
#include <string_view>

#include "src/base/clock.h"
#include "src/bpf/log.h"
#include "src/programs/sections.h"

namespace jobscope {
namespace {

constexpr std::string_view kPerfEvent = "perf_event/", kXdp = "xdp/", kIterator = "iter";

bpf_object* open_bytes(const std::string& bytes, const std::string& name,
                       const std::string& btf_path) {
  LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = name.c_str(),
              .btf_custom_path = btf_path.empty() ? nullptr : btf_path.c_str());
  return bpf_object__open_mem(bytes.data(), bytes.size(), &options);
}

// All that libbpf does with an object up to where the kernel sees its programs.
void load_nothing(const std::string& bytes, const std::string& btf_path) {
  bpf_object* object = open_bytes(bytes, "check", btf_path);
  bpf_program* program = nullptr;
  if (!object) return;
  bpf_object__for_each_program(program, object) {
    bpf_program__set_autoload(program, true);
    bpf_program__set_type(program, BPF_PROG_TYPE_UNSPEC);  // libbpf itself refuses it, at the end
  }
  bpf_object__load(object);
}

// libbpf trusts what it reads: an object that was cut or made to harm may end the process, so a
// child goes first.
Result<> try_in_child(const std::string& bytes, const std::string& btf_path) {
  constexpr rlim_t kMostMemory = 2ULL << 30;
  constexpr unsigned kMostSeconds = 20;
  const pid_t child = ::fork();
  if (child < 0) return fail_errno("fork");
  if (child == 0) {
    const rlimit memory{kMostMemory, kMostMemory}, no_core{0, 0};
    ::setrlimit(RLIMIT_AS, &memory);
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::signal(SIGALRM, SIG_DFL);
    sigset_t alarm;  // the caller may hold it back
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    ::sigprocmask(SIG_UNBLOCK, &alarm, nullptr);
    ::alarm(kMostSeconds);
    libbpf_set_print(nullptr);
    load_nothing(bytes, btf_path);
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status))
    return fail("the object is damaged: libbpf fails on it", "compile it again");
  return {};
}

// The address of any symbol, functions and data.
Result<uint64_t> kernel_address(const std::string& symbol) {
  std::ifstream file("/proc/kallsyms");
  for (std::string line; std::getline(file, line);) {
    const size_t name = line.find(' ') + 3;  // "ffff… t name"
    if (line.size() <= name || line.compare(name, std::string::npos, symbol) != 0) continue;
    if (const uint64_t address = std::strtoull(line.c_str(), nullptr, 16)) return address;
    return fail(fmt::format("the address of the kernel's symbol '{}' is hidden", symbol),
                "it needs CAP_SYSLOG, or kernel.kptr_restrict=0");
  }
  return fail(fmt::format("the kernel has no symbol '{}', which kaddrs names", symbol));
}

std::string section_of(const bpf_program* program) { return bpf_program__section_name(program); }

bool is_iterator(const bpf_program* program) {
  const std::string section = section_of(program);
  return section.starts_with(kIterator) && section.find('/') != std::string::npos &&
         bpf_program__type(program) == BPF_PROG_TYPE_TRACING;
}

// Ids of the maps that a loaded program uses.
std::vector<uint32_t> maps_of(const bpf_program* program) {
  bpf_prog_info info{};
  uint32_t size = sizeof(info);
  if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) != 0) return {};
  std::vector<uint32_t> ids(info.nr_map_ids);
  info = {};
  info.nr_map_ids = static_cast<uint32_t>(ids.size());
  info.map_ids = reinterpret_cast<uintptr_t>(ids.data());
  size = sizeof(info);
  if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) != 0) return {};
  return ids;
}

}  // namespace

// Programs of one list of alternatives, and sections that name several: of each the first that
// works.
struct ProgramObject::Plan {
  std::map<std::string, std::string> failed;               // programs, and why
  std::set<std::string> unloadable;                        // those of them that must not be loaded
  std::map<std::string, std::vector<std::string>> barred;  // section in the file → alternatives
  std::map<std::string, size_t> chosen;                    // section in the file → which of them
  std::vector<std::vector<std::string>> groups;            // of the configuration

  // Whether it gives way to another one of its list: before it, or, if it failed, after it.
  bool stands_back(const std::string& program) const {
    for (const auto& group : groups) {
      if (std::find(group.begin(), group.end(), program) == group.end()) continue;
      const auto chosen = std::find_if(group.begin(), group.end(),
                                       [&](const auto& one) { return !failed.contains(one); });
      return chosen != group.end() && *chosen != program;
    }
    return false;
  }
  // True if there is something else to try in its place.
  bool give_up(const std::string& program, const std::string& section, const std::string& why) {
    for (auto& [whole, alternatives] : barred) {
      size_t& which = chosen[whole];
      if (alternatives[which] != section) continue;
      if (which + 1 == alternatives.size()) break;
      ++which;
      return true;
    }
    if (!failed.emplace(program, why).second) return false;
    for (const auto& group : groups)
      if (std::find(group.begin(), group.end(), program) != group.end() && group.back() != program)
        return true;
    return false;
  }
};

Result<std::unique_ptr<ProgramObject>> ProgramObject::load(const ProgramConfig& config,
                                                           const std::string& object,
                                                           const std::string& btf_path) {
  Plan plan;
  plan.groups = config.alternatives;
  for (const std::string& section : TRY(sections_with_alternatives(object))) {
    plan.barred[section] = section_alternatives(section);
    if (plan.barred[section].empty()) return fail("the section '" + section + "' names nothing");
  }
  TRY(try_in_child(object, btf_path));
  for (;;) {
    std::unique_ptr<ProgramObject> made(new ProgramObject);
    made->bytes_ = object;
    for (const auto& [section, alternatives] : plan.barred)
      TRY(rename_section(made->bytes_, section, alternatives[plan.chosen[section]]));
    if (TRY(made->attempt(config, plan, btf_path))) return made;
  }
}

// False: something failed that has an alternative; the plan says which is next.
Result<bool> ProgramObject::attempt(const ProgramConfig& config, Plan& plan,
                                    const std::string& btf_path) {
  BpfLog log;
  object_.reset(open_bytes(bytes_, config.name, btf_path));
  if (!object_) return log.failure("the object cannot be opened", errno);
  TRY(set_kernel_addresses(config.kaddrs));
  bpf_program* program = nullptr;
  std::set<std::string> names;
  bpf_object__for_each_program(program, object_.get()) {
    const std::string name = bpf_program__name(program), section = section_of(program);
    names.insert(name);
    if (plan.unloadable.contains(name) || plan.stands_back(name))
      bpf_program__set_autoload(program, false);
    if (section.starts_with(kPerfEvent)) bpf_program__set_type(program, BPF_PROG_TYPE_PERF_EVENT);
    if (section.starts_with(kXdp)) {
      bpf_program__set_type(program, BPF_PROG_TYPE_XDP);
      bpf_program__set_expected_attach_type(program, BPF_XDP);
    }
  }
  for (const auto& group : plan.groups)
    for (const std::string& name : group)
      if (!names.contains(name))
        return fail(fmt::format("'alternatives' names '{}', which the object does not have", name));
  if (const int error = bpf_object__load(object_.get())) {
    const std::string name = log.failed_program();
    const bpf_program* failed =
        name.empty() ? nullptr : bpf_object__find_program_by_name(object_.get(), name.c_str());
    if (!failed || plan.unloadable.contains(name)) return log.failure("loading", -error);
    const std::string why = log.failure("loading", -error).value().what;
    if (!plan.give_up(name, section_of(failed), why)) plan.unloadable.insert(name);
    return false;
  }
  for (const auto& [name, why] : plan.failed)
    if (!plan.stands_back(name)) why_[name] = why;
  bpf_object__for_each_program(program, object_.get()) {
    if (!bpf_program__autoload(program)) continue;
    const std::string name = bpf_program__name(program);
    const Result<> done = attach(program);
    if (done) continue;
    why_[name] = done.error().what;
    if (plan.give_up(name, section_of(program), done.error().what)) return false;
  }
  if (libraries_.wants_any()) look_for_libraries(monotonic_now());
  return true;
}

Result<> ProgramObject::set_kernel_addresses(const std::vector<std::string>& symbols) {
  for (const std::string& symbol : symbols) {
    const uint64_t address = TRY(kernel_address(symbol));
    const std::string variable = "kaddr_" + symbol;
    const btf* types = bpf_object__btf(object_.get());
    bool set = false;
    const int section = types ? btf__find_by_name_kind(types, ".rodata", BTF_KIND_DATASEC) : -1;
    const btf_type* data =
        section > 0 ? btf__type_by_id(types, static_cast<uint32_t>(section)) : nullptr;
    bpf_map* map = bpf_object__find_map_by_name(object_.get(), ".rodata");
    size_t size = 0;
    auto* memory =
        map ? static_cast<char*>(const_cast<void*>(bpf_map__initial_value(map, &size))) : nullptr;
    for (int i = 0; data && memory && i < btf_vlen(data); ++i) {
      const btf_var_secinfo& place = btf_var_secinfos(data)[i];
      const btf_type* type = btf__type_by_id(types, place.type);
      const char* name = type ? btf__name_by_offset(types, type->name_off) : nullptr;
      if (!name || variable != name || place.size != sizeof(address) ||
          place.offset + sizeof(address) > size)
        continue;
      std::memcpy(memory + place.offset, &address, sizeof(address));
      set = true;
    }
    if (!set)
      return fail(fmt::format("kaddrs names '{}', but the object has no such variable", symbol),
                  fmt::format("declare `const volatile u64 {} = 0;` and use it", variable));
  }
  return {};
}

Result<> ProgramObject::attach(bpf_program* program) {
  const std::string name = bpf_program__name(program), section = section_of(program);
  attached_[name] = false;
  if (section.starts_with(kPerfEvent)) return attach_perf_events(program);
  if (section.starts_with(kXdp)) return attach_xdp(program);
  if (const BinarySection target = binary_section(section); !target.binary.empty()) {
    if (target.binary.find('/') != std::string::npos) return attach_binary(program, target.binary);
    libraries_.want(target.binary);
    why_[name] = fmt::format(
        "no process has {} mapped yet, and no folder of libraries has it; it is looked "
        "for again every few seconds",
        target.binary);
    return {};
  }
  BpfLog log;
  Link link(bpf_program__attach(program));
  if (!link) {
    const int error = errno;
    if (error == EOPNOTSUPP || error == ESRCH)
      return fail(fmt::format("section '{}' does not say where to attach", section));
    return log.failure("attaching to " + section, error);
  }
  attached_[name] = true;
  if (!is_iterator(program)) {
    links_.push_back(std::move(link));
    return {};
  }
  for (const uint32_t id : maps_of(program)) iterator_maps_.insert(id);
  iterators_.push_back(std::move(link));
  return {};
}

Result<> ProgramObject::attach_binary(bpf_program* program, const std::string& path) {
  const std::string section = section_of(program);
  const BinarySection target = binary_section(section);
  BpfLog log;
  Link link;
  if (target.kind == "usdt") {
    const size_t colon = target.rest.find(':');
    if (colon == std::string::npos)
      return fail(fmt::format("section '{}' is not usdt/PATH:PROVIDER:NAME", section));
    link.reset(bpf_program__attach_usdt(program, -1, path.c_str(),
                                        target.rest.substr(0, colon).c_str(),
                                        target.rest.substr(colon + 1).c_str(), nullptr));
  } else {
    size_t plus = target.rest.find('+');
    const std::string function = target.rest.substr(0, plus);
    const size_t offset =
        plus == std::string::npos ? 0 : std::strtoull(target.rest.c_str() + plus + 1, nullptr, 0);
    const bool at_return = target.kind.starts_with("uret");
    const bool number = !function.empty() &&
                        function.find_first_not_of("0123456789abcdefxX") == std::string::npos &&
                        function.starts_with("0x");
    LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = at_return,
                .func_name = number ? nullptr : function.c_str());
    link.reset(bpf_program__attach_uprobe_opts(
        program, -1, path.c_str(), number ? std::strtoull(function.c_str(), nullptr, 16) : offset,
        &options));
  }
  if (!link) return log.failure("attaching to " + section, errno);
  attached_[bpf_program__name(program)] = true;
  links_.push_back(std::move(link));
  return {};
}

Result<> ProgramObject::attach_perf_events(bpf_program* program) {
  const PerfEventSection section = TRY(perf_event_section(section_of(program)));
  perf_event_attr event{};
  event.size = sizeof(event);
  event.type = section.type;
  event.config = section.config;
  event.freq = section.frequency != 0;
  event.sample_period = section.frequency ? section.frequency : section.period;
  const int cpus = libbpf_num_possible_cpus();
  int last_error = ENODEV;
  std::vector<Link> links;
  for (int cpu = 0; cpu < cpus; ++cpu) {
    const long fd = ::syscall(SYS_perf_event_open, &event, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) {
      last_error = errno;
      if (last_error == ENODEV) continue;  // the CPU is offline
      break;
    }
    BpfLog log;
    Link link(bpf_program__attach_perf_event(program, static_cast<int>(fd)));
    if (!link) {
      last_error = errno;
      ::close(static_cast<int>(fd));
      break;
    }
    links.push_back(std::move(link));
  }
  if (links.empty() || last_error != ENODEV)
    return fail_errno(fmt::format("sampling as '{}' says", section_of(program)), last_error);
  std::move(links.begin(), links.end(), std::back_inserter(links_));
  attached_[bpf_program__name(program)] = true;
  return {};
}

Result<> ProgramObject::attach_xdp(bpf_program* program) {
  const std::string interface = section_of(program).substr(kXdp.size());
  const unsigned index = ::if_nametoindex(interface.c_str());
  if (index == 0) return fail(fmt::format("there is no network interface '{}'", interface));
  BpfLog log;
  Link link(bpf_program__attach_xdp(program, static_cast<int>(index)));
  if (!link) return log.failure("attaching to " + section_of(program), errno);
  attached_[bpf_program__name(program)] = true;
  links_.push_back(std::move(link));
  return {};
}

std::vector<std::string> ProgramObject::look_for_libraries(uint64_t now) {
  std::vector<std::string> fresh;
  for (const MappedFiles::Found& file : libraries_.look(now)) {
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, object_.get()) {
      if (!bpf_program__autoload(program)) continue;
      if (binary_section(section_of(program)).binary != file.pattern) continue;
      const std::string name = bpf_program__name(program);
      const bool before = attached_[name];
      // By its descriptor: what is at the path by now may be something else.
      const std::string path = fmt::format("/proc/self/fd/{}", file.file.get());
      if (const Result<> done = attach_binary(program, path); !done) {
        if (!before) why_[name] = done.error().what + " in " + file.path;
      } else if (!before) {
        why_.erase(name);
        fresh.push_back(name);
      }
    }
  }
  return fresh;
}

void ProgramObject::run_iterators() const {
  for (const Link& link : iterators_) {
    const Fd iterator(bpf_iter_create(bpf_link__fd(link.get())));
    if (!iterator) continue;
    char text[4096];
    while (::read(iterator.get(), text, sizeof(text)) > 0) {
    }
  }
}

std::vector<ProgramState> ProgramObject::programs() const {
  std::vector<ProgramState> states;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object_.get()) {
    ProgramState state;
    state.name = bpf_program__name(program);
    const auto why = why_.find(state.name);
    const bool loaded = bpf_program__autoload(program);
    if (!loaded && why == why_.end()) continue;  // gave way
    state.section = section_of(program);
    if (why != why_.end()) state.why = why->second;
    if (loaded) {
      const auto attached = attached_.find(state.name);
      state.attached = attached != attached_.end() && attached->second;
      bpf_prog_info info{};
      uint32_t size = sizeof(info);
      if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) == 0) {
        state.id = info.id;
        for (const uint8_t byte : info.tag) state.tag += fmt::format("{:02x}", byte);
        state.run_time = info.run_time_ns;
        state.runs = info.run_cnt;
        state.left_out = info.recursion_misses;
      }
    }
    states.push_back(std::move(state));
  }
  return states;
}

const bpf_map* ProgramObject::find_map(const std::string& name) const {
  return bpf_object__find_map_by_name(object_.get(), name.c_str());
}

KeyType ProgramObject::key_type(const bpf_map* map) const {
  return {bpf_object__btf(object_.get()), bpf_map__btf_key_type_id(map), bpf_map__key_size(map)};
}

bool ProgramObject::has_signed_values(const bpf_map* map) const {
  const btf* types = bpf_object__btf(object_.get());
  const int id = types ? btf__resolve_type(types, bpf_map__btf_value_type_id(map)) : -1;
  const btf_type* type = id > 0 ? btf__type_by_id(types, static_cast<uint32_t>(id)) : nullptr;
  return type && btf_is_int(type) && (btf_int_encoding(type) & BTF_INT_SIGNED) != 0;
}

}  // namespace jobscope
