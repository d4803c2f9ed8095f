// A thread that is not the main one replaces the whole process by another program: it gets the main
// thread's id.
//     thread_exec PROGRAM [ARGUMENT...]
// Prints, before that, the process and the thread.
#include "workload.h"

#include <pthread.h>

static char **command;

static void *replace(void *unused) {
  (void)unused;
  sleep_ns(100 * MS);
  printf("{\"workload\":\"thread_exec\",\"pid\":%d,\"exec_tid\":%d}\n", getpid(), gettid());
  fflush(stdout);
  execv(command[0], command);
  die(command[0]);
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: thread_exec PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  command = argv + 1;
  pthread_t thread;
  if (pthread_create(&thread, NULL, replace, NULL) != 0) die("pthread_create");
  pause();
}
