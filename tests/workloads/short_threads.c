// Threads that live for about 50 us each, one after the other, under the name `blink`.
//     short_threads [COUNT]
// COUNT: 1009, a prime. Prints how many it started, and what CPU time the kernel gave to the
// process.
#include "workload.h"

#include <pthread.h>

static void *blink(void *unused) {
  (void)unused;
  prctl(PR_SET_NAME, "blink");
  for (uint64_t end = now_ns() + 30000; now_ns() < end;) {
  }
  return NULL;
}

int main(int argc, char **argv) {
  int count = argc > 1 ? atoi(argv[1]) : 1009;
  for (int i = 0; i < count; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, blink, NULL) != 0) die("pthread_create");
    pthread_join(thread, NULL);
  }
  struct timespec cpu;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  printf("{\"workload\":\"short_threads\",\"pid\":%d,\"count\":%d,\"process_cpu_ns\":%" PRIu64
         "}\n",
         getpid(), count, (uint64_t)(cpu.tv_sec * 1000000000 + cpu.tv_nsec));
}
