// Sleeps 10 ms again and again.
//     sleep_wait [nanosleep|poll|select]
// poll and select are called with no descriptors at all: then they are a sleep.
// Reason: sleep. Prints how many sleeps, how long.
#include "workload.h"

#include <poll.h>
#include <sys/select.h>

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "nanosleep";
  struct measure m = measure_start("sleep_wait", "sleep");
  while (measure_running(&m)) {
    struct timeval ten_ms = {0, 10000};
    wait_begin(&m);
    if (strcmp(how, "poll") == 0)
      poll(NULL, 0, 10);
    else if (strcmp(how, "select") == 0)
      select(0, NULL, NULL, NULL, &ten_ms);
    else
      sleep_ns(10 * MS);
    wait_end(&m);
  }
  measure_stop(&m);
  emit(&m, "");
}
