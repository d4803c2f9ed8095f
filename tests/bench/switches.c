// Two processes on one CPU hand a byte to and fro: switches ROUNDS.
// Two switches a round, and little else.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void pass(int from, int to, long rounds) {
  char byte = 0;
  while (rounds-- > 0 && read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1) {
  }
}

int main(int argc, char **argv) {
  long rounds = argc > 1 ? atol(argv[1]) : 100000;
  int there[2], back[2];
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  if (sched_setaffinity(0, sizeof(one), &one) || pipe(there) || pipe(back)) return 1;
  pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pass(there[0], back[1], rounds);
    _exit(0);
  }
  if (write(there[1], "", 1) != 1) return 1;
  pass(back[0], there[1], rounds - 1);
  return waitpid(child, NULL, 0) < 0;
}
