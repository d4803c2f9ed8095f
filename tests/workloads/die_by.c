// Dies by a signal of its own doing, or of somebody else's.
//     die_by segv|abort|wait
// segv: a store to address 0. abort: abort(). wait: prints its pid and waits for a signal.
#include "workload.h"

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "segv";
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  printf("{\"workload\":\"die_by\",\"pid\":%d}\n", getpid());
  fflush(stdout);
  if (strcmp(how, "abort") == 0) abort();
  while (strcmp(how, "wait") == 0) pause();
  *(volatile int *)0 = 1;
}
