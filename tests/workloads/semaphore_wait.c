// Waits 10 ms at a System V semaphore that nobody raises, again and again.
//     semaphore_wait
// Reason: other, for no reason is made for it; its system call, semtimedop, must be named. Prints
// how many, how long.
#include "workload.h"

#include <sys/ipc.h>
#include <sys/sem.h>

int main(void) {
  int set = semget(IPC_PRIVATE, 1, 0600);
  if (set < 0) die("semget");
  struct measure m = measure_start("semaphore_wait", "other");
  while (measure_running(&m)) {
    struct sembuf down = {0, -1, 0};
    struct timespec limit = {0, 10 * MS};
    wait_begin(&m);
    semtimedop(set, &down, 1, &limit);
    wait_end(&m);
  }
  measure_stop(&m);
  semctl(set, 0, IPC_RMID);
  emit(&m, "");
}
