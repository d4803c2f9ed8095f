// Waits at a pipe whose other end, a child, takes 10 ms for each step.
//     pipe_wait [read|write]
// read: the pipe is empty. write: the pipe is full.
// Reason: pipe. Prints how many waits, how long.
#include "workload.h"

static bool writing;

static void slow_end(int fd) {
  char page[4096] = {0};
  for (;;) {
    sleep_ns(10 * MS);
    if ((writing ? read(fd, page, sizeof page) : write(fd, page, 1)) <= 0) _exit(0);
  }
}

int main(int argc, char **argv) {
  writing = argc > 1 && strcmp(argv[1], "write") == 0;
  int ends[2];
  if (pipe(ends) != 0) die("pipe");
  int ours = ends[writing ? 1 : 0], theirs = ends[writing ? 0 : 1];
  char page[4096] = {0};
  if (writing) {
    fcntl(ours, F_SETPIPE_SZ, 4096);
    if (write(ours, page, sizeof page) != sizeof page) die("write");
  }
  pid_t peer = fork_peer(slow_end, theirs);
  close(theirs);

  struct measure m = measure_start("pipe_wait", "pipe");
  while (measure_running(&m)) {
    wait_begin(&m);
    if ((writing ? write(ours, page, sizeof page) : read(ours, page, 1)) <= 0) die("pipe");
    wait_end(&m);
  }
  measure_stop(&m);
  end_peer(peer);
  emit(&m, ",\"peer\":%d", peer);
}
