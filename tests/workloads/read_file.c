// Reads 4 KiB blocks of a file at scattered places, each from the disk.
//     read_file direct|buffered FILE [COUNT]
// direct: O_DIRECT. buffered: the page cache, emptied of this file before, read-ahead off.
// Without COUNT: for 2 s, or until the whole file was read once.
// Reason: disk_read (remote_fs where FILE lies on FUSE or NFS). Prints how many reads, how many
// bytes, how long.
#include "workload.h"

#include <sys/stat.h>

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: read_file direct|buffered FILE [COUNT]\n");
    return 2;
  }
  bool direct = strcmp(argv[1], "direct") == 0;
  uint64_t wanted = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
  enum { size = 4096 };
  int fd = open(argv[2], O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
  struct stat info;
  void *block;
  if (fd < 0 || fstat(fd, &info) != 0 || posix_memalign(&block, 4096, size) != 0) die(argv[2]);
  memset(block, 1, size);
  if (!direct) {
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  }

  // A stride that shares no factor with the number of blocks passes every block once before it
  // comes back.
  uint64_t blocks = (uint64_t)info.st_size / size, at = 0, bytes = 0, stride = 1000003 % blocks;
  struct measure m = measure_start("read_file", "disk_read");
  while (wanted ? m.count < wanted : m.count < blocks && measure_running(&m)) {
    wait_begin(&m);
    ssize_t got = pread(fd, block, size, (off_t)(at * size));
    wait_end(&m);
    if (got != size) die("pread");
    bytes += (uint64_t)got;
    at = (at + stride) % blocks;
  }
  measure_stop(&m);
  emit(&m, ",\"bytes\":%" PRIu64, bytes);
}
