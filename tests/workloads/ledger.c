// Runs a command as its only child and writes down what the kernel booked for it at its very end.
//     ledger OUT_FILE COMMAND [ARGUMENT...]
// The child is looked at as a zombie, after its last instruction and before it is reaped: nothing
// moves any more. OUT_FILE gets one line of JSON: the main thread's schedstat, the CPU time of the
// child and all that it waited for, and this program's own. The exit code is the child's, or 128 +
// its signal.
#include "workload.h"

static uint64_t cpu_ns(const struct rusage *usage) {
  return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000ull +
         (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: ledger OUT_FILE COMMAND [ARGUMENT...]\n");
    return 2;
  }
  uint64_t start = now_ns();
  pid_t child = fork();
  if (child == 0) {
    execvp(argv[2], argv + 2);
    _exit(127);
  }
  siginfo_t info;
  while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) != 0) {
    if (errno != EINTR) die("waitid");
  }
  uint64_t elapsed = now_ns() - start, on_cpu = 0, run_delay = 0;
  sleep_ns(2 * MS);  // the zombie's last switch is made
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", child, child);
  FILE *schedstat = fopen(path, "re");
  if (!schedstat || fscanf(schedstat, "%" SCNu64 " %" SCNu64, &on_cpu, &run_delay) != 2) die(path);
  fclose(schedstat);

  struct rusage children, self;
  int status;
  if (wait4(child, &status, 0, &children) != child) die("wait4");
  getrusage(RUSAGE_SELF, &self);
  FILE *out = fopen(argv[1], "we");
  if (!out) die(argv[1]);
  fprintf(out,
          "{\"pid\":%d,\"elapsed_ns\":%" PRIu64 ",\"on_cpu_ns\":%" PRIu64
          ",\"run_delay_ns\":%" PRIu64 ",\"children_cpu_ns\":%" PRIu64
          ",\"self_pid\":%d,\"self_cpu_ns\":%" PRIu64
          ",\"peak_rss_bytes\":%ld,\"voluntary\":%ld,\"involuntary\":%ld,\"major_faults\":%ld}\n",
          child, elapsed, on_cpu, run_delay, cpu_ns(&children), getpid(), cpu_ns(&self),
          children.ru_maxrss * 1024, children.ru_nvcsw, children.ru_nivcsw, children.ru_majflt);
  fclose(out);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
