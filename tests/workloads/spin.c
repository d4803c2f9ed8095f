// Holds a CPU all the time: in user space (a counting loop), or in the kernel (reads of /dev/zero).
//     spin [user|system]
// Reason: cpu_user or cpu_system. With a rival on its core: runqueue. Under a CPU quota: throttled.
// Prints on_cpu_ns and run_delay_ns; wait_ns is 0, for it never waits by itself.
#include "workload.h"

int main(int argc, char **argv) {
  bool in_kernel = argc > 1 && strcmp(argv[1], "system") == 0;
  static char block[1 << 20];
  int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  memset(block, 1, sizeof block);  // its page faults are not part of the span

  struct measure m = measure_start("spin", in_kernel ? "cpu_system" : "cpu_user");
  volatile uint64_t sink = 0;
  while (measure_running(&m)) {
    if (in_kernel && read(zero, block, sizeof block) < 0) die("/dev/zero");
    for (int i = 0; i < 100000 && !in_kernel; i++) sink += (uint64_t)i;
    m.count++;
  }
  measure_stop(&m);
  emit(&m, "");
}
