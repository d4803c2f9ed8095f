// Touches the pages of a mapped file that is not in the page cache, one by one: each touch is a
// major fault.
//     map_fault FILE
// Reason: page_fault. Prints how many touches, how many major faults the kernel counted, how long.
#include "workload.h"

#include <sys/mman.h>
#include <sys/stat.h>

int main(int argc, char **argv) {
  int fd = open(argc > 1 ? argv[1] : "", O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (fd < 0 || fstat(fd, &info) != 0) die("usage: map_fault FILE");
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  const volatile char *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED || madvise((void *)map, (size_t)info.st_size, MADV_RANDOM) != 0)
    die("mmap");

  uint64_t pages = (uint64_t)info.st_size / 4096, at = 0, stride = 1000003 % pages, sum = 0;
  struct rusage before, after;
  getrusage(RUSAGE_THREAD, &before);
  struct measure m = measure_start("map_fault", "page_fault");
  while (m.count < pages && measure_running(&m)) {
    wait_begin(&m);
    sum += (uint64_t)map[at * 4096];
    wait_end(&m);
    at = (at + stride) % pages;
  }
  measure_stop(&m);
  getrusage(RUSAGE_THREAD, &after);
  emit(&m, ",\"major_faults\":%ld,\"sum\":%" PRIu64, after.ru_majflt - before.ru_majflt, sum);
}
