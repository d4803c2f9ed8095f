// Connects to something that never answers, until the time is over.
//     tcp_connect [ADDRESS PORT]
// Without an address: a loopback port whose queue of unaccepted connections is full, so that the
// kernel drops the SYN. Reason: net_connect. Prints how long, and how often the kernel says it sent
// the SYN again.
#include "workload.h"

#include <linux/tcp.h>
#include <arpa/inet.h>
#include <sys/socket.h>

// Returns the address of a port whose queue is full; its sockets stay open until exit.
static struct sockaddr_in full_port(void) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof at;
  int listener = socket(AF_INET, SOCK_STREAM, 0), first = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (void *)&at, sizeof at) != 0 || listen(listener, 0) != 0 ||
      getsockname(listener, (void *)&at, &length) != 0 ||
      connect(first, (void *)&at, sizeof at) != 0)
    die("full_port");
  return at;
}

int main(int argc, char **argv) {
  struct sockaddr_in to = {.sin_family = AF_INET};
  if (argc > 2) {
    inet_pton(AF_INET, argv[1], &to.sin_addr);
    to.sin_port = htons((uint16_t)atoi(argv[2]));
  } else {
    to = full_port();
  }

  int fd = socket(AF_INET, SOCK_STREAM, 0);
  uint64_t wait = duration_ns();
  struct timeval limit = {(time_t)(wait / 1000000000ull), (suseconds_t)(wait / 1000 % 1000000)};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  struct measure m = measure_start("tcp_connect", "net_connect");
  wait_begin(&m);
  int answer = connect(fd, (void *)&to, sizeof to);
  int error = errno;
  wait_end(&m);
  measure_stop(&m);
  if (answer == 0 || error != EINPROGRESS) die("connect did not stay unanswered");

  struct tcp_info info = {0};
  socklen_t length = sizeof info;
  getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length);
  emit(&m, ",\"retransmits\":%u", info.tcpi_total_retrans);
}
