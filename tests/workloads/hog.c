// Two loops that never wait share one core; the first is measured.
//     hog
// Reason: runqueue. Prints run_delay_ns, the kernel's own figure for it, and the core.
#include "workload.h"

#include <sched.h>

static void burn(int unused) {
  (void)unused;
  for (;;) {
    __asm__ volatile("");
  }
}

int main(void) {
  cpu_set_t allowed, one;
  sched_getaffinity(0, sizeof allowed, &allowed);
  int core = 0;
  while (!CPU_ISSET(core, &allowed)) core++;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) die("sched_setaffinity");

  pid_t rival = fork_peer(burn, 0);
  struct measure m = measure_start("hog", "runqueue");
  volatile uint64_t sink = 0;
  while (measure_running(&m)) {
    for (int i = 0; i < 100000; i++) sink += (uint64_t)i;
  }
  measure_stop(&m);
  end_peer(rival);
  emit(&m, ",\"core\":%d,\"rival\":%d", core, rival);
}
