// Two threads on one core call sched_yield all the time, as a spin lock does that waits for its
// turn.
//     yield_spin
// Reason: cpu_system, cpu_user and runqueue; `yields` is what it is for.
// Prints, for the main thread, its sched_yield calls (count) and its switches.
#include "workload.h"

#include <pthread.h>
#include <sched.h>

static void *rival(void *unused) {
  (void)unused;
  for (;;) sched_yield();
  return NULL;
}

int main(void) {
  cpu_set_t allowed, one;
  sched_getaffinity(0, sizeof allowed, &allowed);
  int core = 0;
  while (!CPU_ISSET(core, &allowed)) core++;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  pthread_t thread;
  if (sched_setaffinity(0, sizeof one, &one) != 0 ||
      pthread_create(&thread, NULL, rival, NULL) != 0)
    die("yield_spin");

  struct measure m = measure_start("yield_spin", "cpu_system");
  while (measure_running(&m)) {
    sched_yield();
    m.count++;
  }
  measure_stop(&m);
  emit(&m, "");
}
