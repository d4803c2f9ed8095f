// Calls a function of its own so many times, as fast as it can.
//     call_storm COUNT
#include "workload.h"

__attribute__((noinline)) uint64_t storm_step(uint64_t number, const char *name, int a, int b,
                                              int c, int d, int seventh, const char *eighth) {
  __asm__ volatile("" : : "r"(name), "r"(a), "r"(b), "r"(c), "r"(d), "r"(seventh), "r"(eighth));
  return number * 3;
}

int main(int argc, char **argv) {
  static const char name[] = "step", eighth[] = "eight";
  // A BPF program reads no memory that is not there yet: the page is touched once.
  volatile char touched = *(const volatile char *)name;
  touched = *(const volatile char *)eighth;
  (void)touched;
  uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 23, sum = 0;
  for (uint64_t i = 0; i < count; i++) sum += storm_step(i, name, 1, 2, 3, 4, -7, eighth);
  printf("{\"workload\":\"call_storm\",\"pid\":%d,\"count\":%" PRIu64 ",\"sum\":%" PRIu64 "}\n",
         getpid(), count, sum);
}
