// Waits at a TCP connection over loopback whose other end, a child, takes 10 ms for each step.
//     tcp_wait [recv|send]
// recv: nothing has come. send: both small buffers are full.
// Reason: net_recv or net_send. Prints how many waits, how long.
#include "workload.h"

#include <arpa/inet.h>
#include <sys/socket.h>

static bool sending;

static void slow_end(int fd) {
  static char block[65536];
  for (;;) {
    sleep_ns(10 * MS);
    if ((sending ? recv(fd, block, sizeof block, 0) : send(fd, block, 1, MSG_NOSIGNAL)) <= 0)
      _exit(0);
  }
}

int main(int argc, char **argv) {
  sending = argc > 1 && strcmp(argv[1], "send") == 0;
  int small = 8192, listener = socket(AF_INET, SOCK_STREAM, 0),
      ours = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof to;
  setsockopt(ours, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  if (bind(listener, (void *)&to, sizeof to) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, (void *)&to, &length) != 0 ||
      connect(ours, (void *)&to, sizeof to) != 0)
    die("connect");
  int theirs = accept(listener, NULL, NULL);
  if (theirs < 0) die("accept");
  static char block[65536];
  while (sending && send(ours, block, sizeof block, MSG_DONTWAIT) > 0) {
  }
  pid_t peer = fork_peer(slow_end, theirs);
  close(theirs);

  struct measure m = measure_start("tcp_wait", sending ? "net_send" : "net_recv");
  while (measure_running(&m)) {
    wait_begin(&m);
    if ((sending ? send(ours, block, sizeof block, 0) : recv(ours, block, 1, 0)) <= 0) die("tcp");
    wait_end(&m);
  }
  measure_stop(&m);
  end_peer(peer);
  emit(&m, ",\"peer\":%d,\"port\":%d", peer, ntohs(to.sin_port));
}
