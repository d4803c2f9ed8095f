// Waits for children that sleep 100 ms each.
//     child_wait [waitpid|waitid]
// Reason: wait_child. Prints how many children, how long.
#include "workload.h"

static void nap(int unused) {
  (void)unused;
  sleep_ns(100 * MS);
}

int main(int argc, char **argv) {
  bool by_id = argc > 1 && strcmp(argv[1], "waitid") == 0;
  struct measure m = measure_start("child_wait", "wait_child");
  while (measure_running(&m)) {
    pid_t child = fork_peer(nap, 0);
    siginfo_t info;
    wait_begin(&m);
    if ((by_id ? waitid(P_PID, (id_t)child, &info, WEXITED) : waitpid(child, NULL, 0)) < 0)
      die("wait");
    wait_end(&m);
  }
  measure_stop(&m);
  emit(&m, "");
}
