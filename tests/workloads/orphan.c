// A daemon by the old recipe: fork, setsid, fork; the one in the middle exits, the daemon works on
// as an orphan.
//     orphan [leave]
// The daemon, named `orphan_daemon`, uses 300 ms of CPU and ends with code 42. The first process
// waits until it is gone, or with `leave` ends before it. Prints the three pids and, unless
// `leave`, the daemon's CPU time.
#include "workload.h"

struct word {
  pid_t middle, daemon, parent;
  uint64_t cpu_ns;
};

static void be_daemon(pid_t middle, int out) {
  while (getppid() == middle) sleep_ns(MS);
  prctl(PR_SET_NAME, "orphan_daemon");
  struct word word = {middle, getpid(), getppid(), 0};
  if (write(out, &word, sizeof word) != sizeof word) die("daemon");
  struct timespec cpu;
  do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  while (cpu.tv_sec == 0 && cpu.tv_nsec < 300000000);
  word.cpu_ns = ledger_now().on_cpu;
  (void)!write(out, &word, sizeof word);
  _exit(42);
}

int main(int argc, char **argv) {
  bool leave = argc > 1 && strcmp(argv[1], "leave") == 0;
  int ends[2];
  signal(SIGPIPE, SIG_IGN);
  if (pipe(ends) != 0) die("pipe");
  pid_t middle = fork();
  if (middle == 0) {
    setsid();
    pid_t self = getpid();
    if (fork() == 0) {
      close(STDOUT_FILENO);  // nobody shall wait for a reader's end of file
      be_daemon(self, ends[1]);
    }
    _exit(7);
  }
  close(ends[1]);
  waitpid(middle, NULL, 0);
  struct word word;
  if (read(ends[0], &word, sizeof word) != sizeof word) die("daemon");
  if (!leave && read(ends[0], &word, sizeof word) != sizeof word) die("daemon");
  while (!leave && kill(word.daemon, 0) == 0)  // whoever adopted it reaps it
    sleep_ns(MS);
  printf(
      "{\"workload\":\"orphan\",\"pid\":%d,\"middle\":%d,\"daemon\":%d,\"adopted_by\":%d,"
      "\"daemon_cpu_ns\":%" PRIu64 "}\n",
      getpid(), word.middle, word.daemon, word.parent, word.cpu_ns);
}
