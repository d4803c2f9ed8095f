// Two threads hand a ball to and fro by two futexes; the partner holds it for a while each time.
//     futex_pair [HOLD_US [ROUNDS]]
// HOLD_US (1000) is slept, not spun; 0 makes it a plain ping-pong. Without ROUNDS: for 2 s.
// Reason: futex. Prints, for the main thread, how many waits, how long; and the partner's tid.
#include "workload.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

static _Atomic uint32_t ball_here, ball_there;
static uint64_t hold_ns = MS;
static pid_t partner_tid;

static void take(_Atomic uint32_t *ball) {
  while (atomic_exchange(ball, 0) == 0)
    syscall(SYS_futex, ball, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void give(_Atomic uint32_t *ball, uint32_t what) {
  atomic_store(ball, what);
  syscall(SYS_futex, ball, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *partner(void *unused) {
  (void)unused;
  partner_tid = gettid();
  for (;;) {
    take(&ball_there);
    if (hold_ns) sleep_ns(hold_ns);
    give(&ball_here, 1);
  }
  return NULL;
}

int main(int argc, char **argv) {
  if (argc > 1) hold_ns = strtoull(argv[1], NULL, 10) * 1000;
  uint64_t rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : UINT64_MAX;
  pthread_t thread;
  if (pthread_create(&thread, NULL, partner, NULL) != 0) die("pthread_create");

  struct measure m = measure_start("futex_pair", "futex");
  while (m.count < rounds && (rounds != UINT64_MAX || measure_running(&m))) {
    give(&ball_there, 1);
    wait_begin(&m);
    take(&ball_here);
    wait_end(&m);
  }
  measure_stop(&m);
  emit(&m, ",\"partner_tid\":%d", partner_tid);
}
