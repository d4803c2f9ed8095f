// Takes memory and touches every page of it.
//     touch_memory MIB
// Prints how much, and the peak resident size that the kernel booked. In a smaller cgroup the OOM
// killer ends it.
#include "workload.h"

#include <sys/mman.h>

int main(int argc, char **argv) {
  size_t size = (argc > 1 ? strtoull(argv[1], NULL, 10) : 64) << 20;
  char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) die("mmap");
  for (size_t at = 0; at < size; at += 4096) memory[at] = 1;
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("{\"workload\":\"touch_memory\",\"pid\":%d,\"bytes\":%zu,\"peak_rss_bytes\":%ld}\n",
         getpid(), size, usage.ru_maxrss * 1024);
}
