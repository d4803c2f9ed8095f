// Moves a known number of bytes each way over one connection.
//     net_transfer serve  tcp ADDRESS PORT | unix PATH   SEND RECEIVE
//     net_transfer client tcp ADDRESS PORT | unix PATH   SEND RECEIVE [PAUSE_MS]
// The server prints its port ("0" takes a free one; 0 for unix) once it listens, and serves one
// client. The client sends SEND bytes in blocks of 64 KiB (with PAUSE_MS: of 1000 bytes, with a
// pause after each), says it is done, then reads RECEIVE. The client prints what it moved and, for
// TCP, what the kernel counted: bytes both ways, retransmits.
#include "workload.h"

#include <linux/tcp.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>

static char block[65536];

static void send_all(int fd, uint64_t bytes, uint64_t pause) {
  uint64_t most = pause ? 1000 : sizeof block;
  while (bytes > 0) {
    ssize_t n = send(fd, block, bytes < most ? bytes : most, MSG_NOSIGNAL);
    if (n <= 0) die("send");
    bytes -= (uint64_t)n;
    if (pause) sleep_ns(pause);
  }
  shutdown(fd, SHUT_WR);
}

static uint64_t receive_all(int fd) {
  uint64_t bytes = 0;
  ssize_t n;
  while ((n = recv(fd, block, sizeof block, 0)) > 0) bytes += (uint64_t)n;
  if (n < 0) die("recv");
  return bytes;
}

int main(int argc, char **argv) {
  bool serve = argc > 1 && strcmp(argv[1], "serve") == 0,
       tcp = argc > 2 && strcmp(argv[2], "tcp") == 0;
  char **sizes = argv + (tcp ? 5 : 4);
  if (argc < (tcp ? 7 : 6)) {
    fprintf(
        stderr,
        "usage: net_transfer serve|client tcp ADDRESS PORT|unix PATH SEND RECEIVE [PAUSE_MS]\n");
    return 2;
  }
  struct sockaddr_in inet = {.sin_family = AF_INET};
  struct sockaddr_un local = {.sun_family = AF_UNIX};
  socklen_t length = tcp ? sizeof inet : sizeof local;
  void *address = tcp ? (void *)&inet : (void *)&local;
  if (tcp) {
    inet_pton(AF_INET, argv[3], &inet.sin_addr);
    inet.sin_port = htons((uint16_t)atoi(argv[4]));
  } else {
    strncpy(local.sun_path, argv[3], sizeof local.sun_path - 1);
  }
  uint64_t to_send = strtoull(sizes[0], NULL, 10), to_receive = strtoull(sizes[1], NULL, 10);
  uint64_t pause = (argc > (tcp ? 7 : 6) ? strtoull(sizes[2], NULL, 10) : 0) * MS;

  int fd = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM, 0), on = 1;
  if (serve) {
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, address, length) != 0 || listen(fd, 1) != 0 ||
        getsockname(fd, address, &length) != 0)
      die("listen");
    printf("%d\n", tcp ? ntohs(inet.sin_port) : 0);
    fflush(stdout);
    fd = accept(fd, NULL, NULL);
    if (receive_all(fd) != to_receive) die("serve: too few bytes");
    send_all(fd, to_send, 0);
    return 0;
  }
  if (connect(fd, address, length) != 0) die("connect");
  send_all(fd, to_send, pause);
  uint64_t received = receive_all(fd);
  struct tcp_info info = {0};
  socklen_t size = sizeof info;
  if (tcp) getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size);
  printf("{\"workload\":\"net_transfer\",\"pid\":%d,\"sent\":%" PRIu64 ",\"received\":%" PRIu64
         ",\"expected\":%" PRIu64
         ",\"kernel_sent\":%llu,\"kernel_received\":%llu,\"retransmits\":%u}\n",
         getpid(), to_send, received, to_receive, (unsigned long long)info.tcpi_bytes_acked,
         (unsigned long long)info.tcpi_bytes_received, info.tcpi_total_retrans);
}
