// A child whose first thread ends before the second one, which ends the process with code 5.
//     leader_ends_first
// Prints the child's pid.
#include "workload.h"

#include <pthread.h>

static void *last(void *unused) {
  (void)unused;
  sleep_ns(50 * MS);
  exit(5);
}

int main(void) {
  pid_t child = fork();
  if (child < 0) die("fork");
  if (child == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, last, NULL)) die("pthread_create");
    pthread_exit(NULL);
  }
  waitpid(child, NULL, 0);
  printf("{\"workload\":\"leader_ends_first\",\"pid\":%d,\"child\":%d}\n", getpid(), child);
}
