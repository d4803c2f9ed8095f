// Four children: it kills the first by SIGKILL and the second by SIGTERM, the third ends by itself
// with code 3, the fourth by its own SIGSEGV.
//     kill_child
// Prints the pids.
#include "workload.h"

static void doze(int unused) {
  (void)unused;
  pause();
}

static void finish(int unused) {
  (void)unused;
  _exit(3);
}

static void fall(int unused) {
  (void)unused;
  prctl(PR_SET_DUMPABLE, 0);  // no core file
  *(volatile int *)0 = 1;
}

int main(void) {
  pid_t killed = fork_peer(doze, 0), terminated = fork_peer(doze, 0);
  pid_t finished = fork_peer(finish, 0), fallen = fork_peer(fall, 0);
  sleep_ns(50 * MS);
  kill(killed, SIGKILL);
  kill(terminated, SIGTERM);
  while (wait(NULL) > 0) {
  }
  printf(
      "{\"workload\":\"kill_child\",\"pid\":%d,\"killed\":%d,\"terminated\":%d,\"finished\":%d,"
      "\"fallen\":%d}\n",
      getpid(), killed, terminated, finished, fallen);
}
