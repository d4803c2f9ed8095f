// Waits once, 20 µs, on each of so many futexes, one after the other: each is a wait of its own
// name.
//     many_waits COUNT
#include "workload.h"

#include <linux/futex.h>
#include <sys/syscall.h>

int main(int argc, char **argv) {
  unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 20011;
  uint32_t *words = calloc(count, sizeof *words);
  if (!words) die("calloc");
  struct measure m = measure_start("many_waits", "futex");
  for (unsigned i = 0; i < count; i++) {
    struct timespec timeout = {0, 20000};
    wait_begin(&m);
    syscall(SYS_futex, words + i, FUTEX_WAIT_PRIVATE, 0, &timeout, NULL, 0);
    wait_end(&m);
  }
  measure_stop(&m);
  emit(&m, "");
}
