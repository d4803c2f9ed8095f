// A child sleeps for 2 s in one call; its parent stops it after 500 ms and lets it go on 500 ms
// later, so that the kernel restarts the call.
//     interrupted_sleep [nanosleep|poll]
// Reason: sleep, with half a second of stopped in it. The line is the child's.
#include "workload.h"

#include <poll.h>

int main(int argc, char **argv) {
  bool by_poll = argc > 1 && strcmp(argv[1], "poll") == 0;
  pid_t child = fork();
  if (child < 0) die("fork");
  if (child == 0) {
    struct measure m = measure_start("interrupted_sleep", "sleep");
    wait_begin(&m);
    if (by_poll)
      poll(NULL, 0, 2000);
    else
      sleep_ns(2000 * MS);
    wait_end(&m);
    measure_stop(&m);
    emit(&m, "");
    return 0;
  }
  sleep_ns(500 * MS);
  kill(child, SIGSTOP);
  sleep_ns(500 * MS);
  kill(child, SIGCONT);
  waitpid(child, NULL, 0);
}
