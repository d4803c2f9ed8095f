#include "src/bpf/log.h"

#include <gtest/gtest.h>
#include <bpf/libbpf.h>

#include <cstdarg>

namespace jobscope {
namespace {

// Says something with libbpf's voice.
void warn(const char* format, ...) {
  const libbpf_print_fn_t listener = libbpf_set_print(nullptr);
  libbpf_set_print(listener);
  va_list arguments;
  va_start(arguments, format);
  listener(LIBBPF_WARN, format, arguments);
  va_end(arguments);
}

std::string what(const BpfLog& log) { return log.failure("loading", EINVAL).value().what; }

TEST(BpfLog, without_messages_there_is_the_error) {
  const BpfLog log;
  EXPECT_EQ(what(log), "loading: Invalid argument");
  EXPECT_EQ(log.failure("loading", EINVAL).value().code, EINVAL);
}

TEST(BpfLog, a_field_that_the_kernel_lacks) {
  const BpfLog log;
  warn("libbpf: prog '%s': BPF program load failed: Invalid argument\n", "on_start");
  warn(
      "libbpf: prog 'on_start': -- BEGIN PROG LOAD LOG --\n0: R1=ctx() R10=fp0\n83: <invalid "
      "CO-RE relocation>\nfailed to resolve CO-RE relocation <byte_off> [108] struct "
      "request.no_such_field (0:1 @ offset 8)\nprocessed 52 insns (limit 1000000)\n-- END PROG "
      "LOAD LOG --\n");
  EXPECT_EQ(what(log), "loading: the kernel lacks struct request.no_such_field (on_start)");
}

TEST(BpfLog, an_enumerator_that_the_kernel_lacks_makes_one_line) {
  const BpfLog log;
  warn(
      "libbpf: failed to resolve CO-RE relocation <enumval_value> [5] enum "
      "cgroup_subsys_id::memory_cgrp_id = 4\nprocessed 3 insns\n");
  EXPECT_EQ(what(log), "loading: the kernel lacks enum cgroup_subsys_id::memory_cgrp_id = 4");
}

TEST(BpfLog, the_verifiers_last_word_even_of_a_long_log) {
  const BpfLog log;
  warn("libbpf: prog 'on_switch': BPF program load failed: Permission denied\n");
  warn(
      "libbpf: prog 'on_switch': -- BEGIN PROG LOAD LOG --\n%s\nR2 invalid mem access 'scalar'\n"
      "processed 9 insns\n-- END PROG LOAD LOG --\n",
      std::string(5000, 'x').c_str());
  EXPECT_EQ(what(log), "loading: Invalid argument: R2 invalid mem access 'scalar' (on_switch)");
}

TEST(BpfLog, the_innermost_one_listens) {
  const BpfLog outer;
  {
    const BpfLog inner;
    warn("libbpf: prog 'on_exit': BPF program load failed: Invalid argument\n");
    EXPECT_EQ(what(inner), "loading: Invalid argument (on_exit)");
  }
  EXPECT_EQ(what(outer), "loading: Invalid argument");
}

}  // namespace
}  // namespace jobscope
