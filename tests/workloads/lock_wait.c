// Waits for a lock on a file that a child holds until the time is over.
//     lock_wait flock|fcntl FILE
// Reason: file_other. Prints how long.
#include "workload.h"

#include <sys/file.h>

static const char *path;
static bool by_fcntl;

static int lock(void) {
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  struct flock whole = {.l_type = F_WRLCK};
  return fd < 0 ? -1 : by_fcntl ? fcntl(fd, F_SETLKW, &whole) : flock(fd, LOCK_EX);
}

static void hold(int ready) {
  if (lock() != 0 || write(ready, "x", 1) != 1) die("hold");
  sleep_ns(duration_ns());
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: lock_wait flock|fcntl FILE\n");
    return 2;
  }
  by_fcntl = strcmp(argv[1], "fcntl") == 0;
  path = argv[2];
  int ready[2];
  char byte;
  if (pipe(ready) != 0) die("pipe");
  pid_t holder = fork_peer(hold, ready[1]);
  if (read(ready[0], &byte, 1) != 1) die("holder");

  struct measure m = measure_start("lock_wait", "file_other");
  wait_begin(&m);
  if (lock() != 0) die("lock");
  wait_end(&m);
  measure_stop(&m);
  waitpid(holder, NULL, 0);
  emit(&m, ",\"holder\":%d", holder);
}
