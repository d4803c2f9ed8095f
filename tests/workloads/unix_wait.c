// Waits at a unix stream socket whose other end, a child, takes 10 ms for each step.
//     unix_wait [recv|send]
// recv: nothing has come. send: the other end's queue is full.
// Reason: unix_socket. Prints how many waits, how long.
#include "workload.h"

#include <sys/socket.h>

static bool sending;

static void slow_end(int fd) {
  static char block[4096];
  for (;;) {
    sleep_ns(10 * MS);
    if ((sending ? recv(fd, block, sizeof block, MSG_WAITALL) : send(fd, block, 1, MSG_NOSIGNAL)) <=
        0)
      _exit(0);
  }
}

int main(int argc, char **argv) {
  sending = argc > 1 && strcmp(argv[1], "send") == 0;
  int ends[2], small = 4096;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) die("socketpair");
  setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  static char block[4096];
  while (sending && send(ends[0], block, sizeof block, MSG_DONTWAIT) > 0) {
  }
  pid_t peer = fork_peer(slow_end, ends[1]);
  close(ends[1]);

  struct measure m = measure_start("unix_wait", "unix_socket");
  while (measure_running(&m)) {
    wait_begin(&m);
    if ((sending ? send(ends[0], block, sizeof block, 0) : recv(ends[0], block, 1, 0)) <= 0)
      die("unix socket");
    wait_end(&m);
  }
  measure_stop(&m);
  end_peer(peer);
  emit(&m, ",\"peer\":%d", peer);
}
