// Needs more memory than its cgroup allows, where the cgroup's OOM killer is off: it stands still
// in a page fault until a child outside that cgroup raises the limit after the time is over.
//     memory_wait CGROUP_DIRECTORY NEW_LIMIT_BYTES      (cgroup v1; it puts itself in)
// Reason: memory. Prints how long its longest touch of a page took.
#include "workload.h"

#include <sys/mman.h>

static const char *directory, *new_limit;

static void put(const char *file, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", directory, file);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, text, strlen(text)) < 0) die(path);
  close(fd);
}

static void raise_limit(int unused) {
  (void)unused;
  sleep_ns(duration_ns());
  put("memory.limit_in_bytes", new_limit);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: memory_wait CGROUP_DIRECTORY NEW_LIMIT_BYTES\n");
    return 2;
  }
  directory = argv[1];
  new_limit = argv[2];
  size_t size = strtoull(new_limit, NULL, 10) / 2;
  pid_t helper = fork_peer(raise_limit, 0);
  put("cgroup.procs", "0");
  char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) die("mmap");
  madvise(memory, size, MADV_NOHUGEPAGE);

  struct measure m = measure_start("memory_wait", "memory");
  uint64_t longest = 0;
  for (size_t at = 0; at < size; at += 4096) {
    wait_begin(&m);
    memory[at] = 1;
    uint64_t took = now_ns() - m.began;
    longest = took > longest ? took : longest;
  }
  m.wait_ns = longest;
  m.count = 1;
  measure_stop(&m);
  waitpid(helper, NULL, 0);
  emit(&m, "");
}
