// Children that get the same pid one after the other, by ns_last_pid, each with its own exit code.
//     pid_reuse
// Needs root or CAP_CHECKPOINT_RESTORE. Others may take the pid in between: it tries until 7
// children had it. Prints the pid, the exit codes of the children that had it, and how many
// children there were in all.
#include "workload.h"

static pid_t child_with(int code) {
  pid_t child = fork();
  if (child < 0) die("fork");
  if (child == 0) _exit(code);
  int status;
  if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != code) die("waitpid");
  return child;
}

int main(void) {
  enum { WANTED = 7, TRIES = 500 };
  int last_pid = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
  pid_t pid = child_with(11);
  int had_it = 1, children = 1;
  while (had_it < WANTED && children < TRIES) {
    char text[16];
    int n = snprintf(text, sizeof text, "%d", pid - 1);
    if (pwrite(last_pid, text, (size_t)n, 0) != n) die("ns_last_pid");
    had_it += child_with(11 + had_it) == pid;
    children++;
  }
  printf("{\"workload\":\"pid_reuse\",\"pid\":%d,\"reused\":%d,\"count\":%d,\"children\":%d}\n",
         getpid(), pid, had_it, children);
}
