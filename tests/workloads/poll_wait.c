// Waits for a pipe to become readable; a child writes a byte every 10 ms.
//     poll_wait [epoll|poll|select]
// Reason: poll. Prints how many waits, how long.
#include "workload.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

static void slow_end(int fd) {
  do sleep_ns(10 * MS);
  while (write(fd, "x", 1) == 1);
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "epoll";
  int ends[2], epoll = epoll_create1(EPOLL_CLOEXEC);
  if (pipe(ends) != 0) die("pipe");
  struct epoll_event event = {.events = EPOLLIN};
  epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
  pid_t peer = fork_peer(slow_end, ends[1]);
  close(ends[1]);

  struct measure m = measure_start("poll_wait", "poll");
  while (measure_running(&m)) {
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    int ready;
    wait_begin(&m);
    if (strcmp(how, "select") == 0)
      ready = select(ends[0] + 1, &set, NULL, NULL, NULL);
    else if (strcmp(how, "poll") == 0)
      ready = poll(&one, 1, -1);
    else
      ready = epoll_wait(epoll, &event, 1, -1);
    wait_end(&m);
    char byte;
    if (ready != 1 || read(ends[0], &byte, 1) != 1) die(how);
  }
  measure_stop(&m);
  end_peer(peer);
  emit(&m, ",\"peer\":%d", peer);
}
