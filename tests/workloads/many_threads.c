// Very many threads that are all alive at the same time, under the name `crowd`.
//     many_threads [COUNT]
// COUNT: 3000. They wait on one lock until the last has come. Prints how many there were.
#include "workload.h"

#include <pthread.h>

static pthread_barrier_t everybody;

static void *member(void *unused) {
  (void)unused;
  prctl(PR_SET_NAME, "crowd");
  pthread_barrier_wait(&everybody);
  return NULL;
}

int main(int argc, char **argv) {
  int count = argc > 1 ? atoi(argv[1]) : 3000;
  pthread_t *threads = calloc((size_t)count, sizeof *threads);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  pthread_barrier_init(&everybody, NULL, (unsigned)count + 1);
  for (int i = 0; i < count; i++) {
    if ((errno = pthread_create(&threads[i], &small, member, NULL)) != 0) die("pthread_create");
  }
  pthread_barrier_wait(&everybody);
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  printf("{\"workload\":\"many_threads\",\"pid\":%d,\"count\":%d}\n", getpid(), count);
}
