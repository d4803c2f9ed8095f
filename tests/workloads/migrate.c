// Moves itself between two cores a known number of times.
//     migrate [MOVES]
// MOVES: 101. Needs two cores. Prints the moves it made, and how many the kernel counted, where it
// says so.
#include "workload.h"

#include <sched.h>

static long kernel_count(void) {
  char line[256];
  long moves = -1;
  FILE *file = fopen("/proc/thread-self/sched", "re");
  while (file && fgets(line, sizeof line, file)) {
    if (sscanf(line, "se.nr_migrations : %ld", &moves) == 1) break;
  }
  if (file) fclose(file);
  return moves;
}

int main(int argc, char **argv) {
  int moves = argc > 1 ? atoi(argv[1]) : 101, cores[2], found = 0;
  cpu_set_t allowed, one;
  sched_getaffinity(0, sizeof allowed, &allowed);
  for (int core = 0; core < CPU_SETSIZE && found < 2; core++) {
    if (CPU_ISSET(core, &allowed)) cores[found++] = core;
  }
  if (found < 2) {
    fputs("migrate: only one core\n", stderr);
    return 2;
  }
  long before = 0;
  for (int i = 0; i <= moves; i++) {
    CPU_ZERO(&one);
    CPU_SET(cores[i % 2], &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) die("sched_setaffinity");
    if (i == 0) before = kernel_count();
    for (uint64_t end = now_ns() + MS; now_ns() < end;) {
    }
  }
  long after = kernel_count();
  printf(
      "{\"workload\":\"migrate\",\"pid\":%d,\"tid\":%d,\"moves\":%d,\"kernel_moves\":%ld,\"kernel_"
      "total\":%ld}\n",
      getpid(), gettid(), moves, after - before, after);
}
