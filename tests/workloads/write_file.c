// Writes 4 KiB blocks to a file and waits for the disk each time.
//     write_file direct|fsync|fdatasync FILE [COUNT]
// direct: O_DIRECT over blocks that FILE has already; the write is the wait.
// fsync, fdatasync: a buffered write, which does not wait, then the sync, which does and is
// measured. Without COUNT: for 2 s. Reason: disk_write or fsync. Prints how many, how many bytes,
// how long.
#include "workload.h"

#include <sys/stat.h>

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: write_file direct|fsync|fdatasync FILE [COUNT]\n");
    return 2;
  }
  bool direct = strcmp(argv[1], "direct") == 0, data_only = strcmp(argv[1], "fdatasync") == 0;
  uint64_t wanted = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
  enum { size = 4096 };
  int fd = open(argv[2], O_WRONLY | O_CLOEXEC | (direct ? O_DIRECT : O_CREAT), 0600);
  struct stat info;
  void *block;
  if (fd < 0 || fstat(fd, &info) != 0 || posix_memalign(&block, 4096, size) != 0) die(argv[2]);
  memset(block, 'j', size);
  uint64_t blocks = direct ? (uint64_t)info.st_size / size : 16;

  struct measure m = measure_start("write_file", direct ? "disk_write" : "fsync");
  while (wanted ? m.count < wanted : measure_running(&m)) {
    off_t at = (off_t)(m.count % blocks * size);
    if (direct) wait_begin(&m);
    if (pwrite(fd, block, size, at) != size) die("pwrite");
    if (!direct) {
      wait_begin(&m);
      if ((data_only ? fdatasync(fd) : fsync(fd)) != 0) die("fsync");
    }
    wait_end(&m);
  }
  measure_stop(&m);
  emit(&m, ",\"bytes\":%" PRIu64, m.count * size);
}
