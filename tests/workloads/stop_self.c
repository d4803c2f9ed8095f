// Stops itself by SIGSTOP; a child of it wakes it after the time is over.
//     stop_self
// Reason: stopped. Prints how long it stood still.
#include "workload.h"

static void wake_parent(int parent) {
  sleep_ns(duration_ns());
  kill(parent, SIGCONT);
}

int main(void) {
  pid_t waker = fork_peer(wake_parent, getpid());
  struct measure m = measure_start("stop_self", "stopped");
  wait_begin(&m);
  raise(SIGSTOP);
  wait_end(&m);
  measure_stop(&m);
  waitpid(waker, NULL, 0);
  emit(&m, ",\"waker\":%d", waker);
}
