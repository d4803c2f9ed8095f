// Reads so many blocks of 64 KiB by io_uring, each handed to a worker thread that the kernel makes
// (IOSQE_ASYNC), and one at a time.
//     uring_read FILE COUNT
#include "workload.h"

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define BLOCK 65536

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: uring_read FILE COUNT\n");
    return 2;
  }
  int file = open(argv[1], O_RDONLY | O_DIRECT), count = atoi(argv[2]);
  void *buffer = aligned_alloc(4096, BLOCK);
  struct io_uring_params p = {0};
  int ring = (int)syscall(SYS_io_uring_setup, 1, &p);
  if (file < 0 || !buffer || ring < 0) die("uring_read");
  int prot = PROT_READ | PROT_WRITE;
  char *sq = mmap(NULL, p.sq_off.array + 4096, prot, MAP_SHARED, ring, IORING_OFF_SQ_RING);
  char *cq = mmap(NULL, p.cq_off.cqes + 4096, prot, MAP_SHARED, ring, IORING_OFF_CQ_RING);
  struct io_uring_sqe *sqe = mmap(NULL, 4096, prot, MAP_SHARED, ring, IORING_OFF_SQES);
  if (sq == MAP_FAILED || cq == MAP_FAILED || sqe == MAP_FAILED) die("mmap");
  unsigned *tail = (unsigned *)(sq + p.sq_off.tail), *array = (unsigned *)(sq + p.sq_off.array);
  unsigned *head = (unsigned *)(cq + p.cq_off.head);
  struct io_uring_cqe *done = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
  struct measure m = measure_start("uring_read", "poll");
  for (int i = 0; i < count; i++) {
    *sqe = (struct io_uring_sqe){.opcode = IORING_OP_READ,
                                 .flags = IOSQE_ASYNC,
                                 .fd = file,
                                 .addr = (uint64_t)(uintptr_t)buffer,
                                 .len = BLOCK,
                                 .off = (uint64_t)i * BLOCK};
    array[0] = 0;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    wait_begin(&m);
    if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1) die("enter");
    wait_end(&m);
    unsigned at = __atomic_load_n(head, __ATOMIC_ACQUIRE);
    if (done[at & (p.cq_entries - 1)].res != BLOCK) die("read");
    __atomic_store_n(head, at + 1, __ATOMIC_RELEASE);
  }
  measure_stop(&m);
  emit(&m, "");
}
