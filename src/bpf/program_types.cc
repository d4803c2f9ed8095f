#include "src/bpf/program_types.h"

#include <linux/perf_event.h>
#include <elf.h>
#include <link.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "program_types.skel.h"
#include "src/base/fd.h"
#include "src/bpf/skeleton.h"

namespace jobscope {
namespace {

// Where the uprobes are.
[[gnu::noinline]] void target() { asm volatile(""); }

// Passes all hooks.
void trigger() {
  char name[16] = {};
  ::prctl(PR_GET_NAME, name);
  ::prctl(PR_SET_NAME, name);  // task_rename
  ::getpgid(::getpid());       // security_task_getpgid
  target();
}

// Offset in this program's file of a function of ours.
std::optional<size_t> file_offset(void (*function)()) {
  struct Search {
    uintptr_t address;
    std::optional<size_t> offset;
  } search{reinterpret_cast<uintptr_t>(function), {}};
  const auto look = [](dl_phdr_info* object, size_t, void* data) {
    auto& wanted = *static_cast<Search*>(data);
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = object->dlpi_phdr[i];
      const uintptr_t start = object->dlpi_addr + segment.p_vaddr;
      if (segment.p_type == PT_LOAD && wanted.address - start < segment.p_memsz)
        wanted.offset = wanted.address - start + segment.p_offset;
    }
    return 1;  // the first object is the program itself
  };
  ::dl_iterate_phdr(look, &search);
  return search.offset;
}

Result<Link> attach_uprobe(bpf_program* program, bool at_return) {
  const auto offset = file_offset(target);
  if (!offset) return fail("this program's own file is unknown");
  BpfLog log;
  constexpr pid_t kSelf = 0;
  bpf_link* link = bpf_program__attach_uprobe(program, at_return, kSelf, "/proc/self/exe", *offset);
  if (!link) return log.failure("attaching", errno);
  return Link(link);
}

Result<Link> attach_perf_event(bpf_program* program) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.size = sizeof(attr);
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.sample_period = 1'000'000;  // ns; a frequency may be above perf_event_max_sample_rate
  Fd event(
      static_cast<int>(::syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!event) return fail_errno("opening the CPU clock event");
  BpfLog log;
  bpf_link* link = bpf_program__attach_perf_event(program, event.get());
  if (!link) return log.failure("attaching", errno);
  event.release();  // the link's now
  return Link(link);
}

Result<Link> attach_multi(bpf_program* program) {
  const char* function = "security_task_getpgid";
  LIBBPF_OPTS(bpf_kprobe_multi_opts, options, .syms = &function, .cnt = 1);
  BpfLog log;
  bpf_link* link = bpf_program__attach_kprobe_multi_opts(program, nullptr, &options);
  if (!link) return log.failure("attaching", errno);
  return Link(link);
}

// Runs an iterator once.
void read_all(bpf_link* link) {
  const Fd iterator(bpf_iter_create(bpf_link__fd(link)));
  char bytes[256];
  while (iterator && ::read(iterator.get(), bytes, sizeof(bytes)) > 0) {
  }
}

bool exists(const char* path) { return ::access(path, F_OK) == 0; }

// What is known about this kernel that explains why a type does not work; "" if nothing.
std::string explanation(std::string_view type, const Error& error) {
  constexpr const char* kSources = "/sys/bus/event_source/devices";
  const auto lacks = [&](const char* pmu) {
    return exists(kSources) && !exists((std::string(kSources) + "/" + pmu).c_str());
  };
  // Without the PMU, libbpf tries tracefs: what that says is of no use to anybody.
  if ((type == "kprobe" || type == "kretprobe") && lacks("kprobe"))
    return "the kernel is built without kprobes (CONFIG_KPROBES)";
  if ((type == "uprobe" || type == "uretprobe") && lacks("uprobe"))
    return "the kernel is built without uprobes (CONFIG_UPROBES)";
  if (type == "kprobe.multi" && (error.code == EOPNOTSUPP || error.code == EINVAL))
    return "the kernel has no fprobe (5.18, CONFIG_FPROBE)";
  const bool by_trampoline =
      type == "fentry" || type == "fexit" || type == "fmod_ret" || type == "lsm";
  if (by_trampoline && error.code == EPERM)
    return "the kernel permits no BPF trampolines: " + std::string(std::strerror(error.code));
  return {};
}

// Why an LSM program that is attached does not run; "" if that is not known.
std::string lsm_is_off() {
  std::ifstream file("/sys/kernel/security/lsm");
  std::string active;
  if (!std::getline(file, active) || ("," + active + ",").find(",bpf,") != std::string::npos)
    return {};
  return "'bpf' is not among the active security modules (" + active +
         "): add it to lsm= of the kernel's command line";
}

// Burns CPU time until the clock event has surely come.
void burn() {
  timespec start{}, now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
  do ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while ((now.tv_sec - start.tv_sec) * 1'000'000'000 + now.tv_nsec - start.tv_nsec < 20'000'000);
}

// "fentry" of a program in the section "fentry/security_task_getpgid".
std::string_view type_of(const bpf_program* program) {
  const std::string_view section = bpf_program__section_name(program);
  return section.substr(0, section.find('/'));
}

// One program alone; says why it does not work.
Result<> try_program(const std::string& type) {
  Skeleton<program_types_bpf> skeleton;
  TRY(skeleton.open());
  bpf_program *each = nullptr, *program = nullptr;
  bpf_object__for_each_program(each, skeleton->obj) {
    const bool wanted = type_of(each) == type;
    bpf_program__set_autoload(each, wanted);
    if (wanted) program = each;
  }
  skeleton->rodata->watched_tid = static_cast<uint32_t>(::gettid());
  SharedMaps none;
  TRY(skeleton.load(none));
  const Link link = TRY(type == "uprobe"         ? attach_uprobe(program, false)
                        : type == "uretprobe"    ? attach_uprobe(program, true)
                        : type == "perf_event"   ? attach_perf_event(program)
                        : type == "kprobe.multi" ? attach_multi(program)
                                                 : attach(program));
  if (type == "iter")
    read_all(link.get());
  else if (type == "perf_event")
    burn();
  else
    trigger();
  if (skeleton->bss->runs) return {};
  const std::string known = type == "lsm" ? lsm_is_off() : "";
  return fail(known.empty() ? "can be attached, but does not run" : known);
}

}  // namespace

std::vector<ProgramType> probe_program_types() {
  Skeleton<program_types_bpf> skeleton;
  std::vector<ProgramType> types;
  if (!skeleton.open()) return types;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, skeleton->obj) {
    ProgramType type{std::string(type_of(program)), {}};
    if (const Result<> works = try_program(type.name); !works) {
      type.lack = explanation(type.name, works.error());
      if (type.lack.empty()) type.lack = works.error().what;
    }
    types.push_back(std::move(type));
  }
  return types;
}

}  // namespace jobscope
