// Shared by the known workloads: the clocks of the kernel about the calling thread, and the one
// line of JSON that a workload prints at its end.
//
// A workload brackets its waits:
//     struct measure m = measure_start("pipe_wait", "pipe");
//     while (measure_running(&m)) { wait_begin(&m); read(...); wait_end(&m); }
//     measure_stop(&m);
//     emit(&m, "");
// and the line says, for that thread:
// - wait_ns: CLOCK_MONOTONIC around the waits
// - blocked_ns: wait_ns less all on-CPU and run-queue time of the span, so surely blocked
// - on_cpu_ns, run_delay_ns, voluntary, involuntary: since the thread's birth, by the kernel
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000ull

_Noreturn static inline void die(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(99);
}

static inline uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static inline void sleep_ns(uint64_t ns) {
  struct timespec t = {(time_t)(ns / 1000000000ull), (long)(ns % 1000000000ull)};
  while (nanosleep(&t, &t) != 0 && errno == EINTR) {
  }
}

// How long a workload works: $WORKLOAD_MS, or 2 s.
static inline uint64_t duration_ns(void) {
  const char *ms = getenv("WORKLOAD_MS");
  return (ms ? strtoull(ms, NULL, 10) : 2000) * MS;
}

struct ledger {
  uint64_t mono, on_cpu, run_delay;
};

// What the kernel has booked for the calling thread so far.
static inline struct ledger ledger_now(void) {
  struct ledger l = {0};
  struct timespec refresh;
  // schedstat of a running thread is as old as the last tick; asking for this clock brings it up to
  // date.
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &refresh);
  char text[128] = "";
  int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (fd < 0 || read(fd, text, sizeof text - 1) <= 0) die("schedstat");
  close(fd);
  l.mono = now_ns();
  if (sscanf(text, "%" SCNu64 " %" SCNu64, &l.on_cpu, &l.run_delay) != 2) die("schedstat");
  return l;
}

struct measure {
  const char *workload, *reason;
  struct ledger start, stop;
  uint64_t deadline, began, wait_ns, count;
};

static inline struct measure measure_start(const char *workload, const char *reason) {
  struct measure m = {.workload = workload, .reason = reason, .start = ledger_now()};
  m.deadline = m.start.mono + duration_ns();
  return m;
}

static inline bool measure_running(const struct measure *m) { return now_ns() < m->deadline; }
static inline void measure_stop(struct measure *m) { m->stop = ledger_now(); }
static inline void wait_begin(struct measure *m) { m->began = now_ns(); }

static inline void wait_end(struct measure *m) {
  m->wait_ns += now_ns() - m->began;
  m->count++;
}

// Prints the line. `extra` is a printf format of further members, each led by a comma.
__attribute__((format(printf, 2, 3))) static inline void emit(const struct measure *m,
                                                              const char *extra, ...) {
  char more[2048] = "", line[4096];
  va_list arguments;
  va_start(arguments, extra);
  vsnprintf(more, sizeof more, extra, arguments);
  va_end(arguments);

  uint64_t on_cpu = m->stop.on_cpu - m->start.on_cpu,
           delay = m->stop.run_delay - m->start.run_delay;
  uint64_t blocked = m->wait_ns > on_cpu + delay ? m->wait_ns - on_cpu - delay : 0;
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  struct ledger end = ledger_now();
  int n = snprintf(line, sizeof line,
                   "{\"workload\":\"%s\",\"reason\":\"%s\",\"pid\":%d,\"tid\":%d,\"count\":%" PRIu64
                   ",\"wait_ns\":%" PRIu64 ",\"blocked_ns\":%" PRIu64 ",\"span_ns\":%" PRIu64
                   ",\"span_on_cpu_ns\":%" PRIu64 ",\"span_run_delay_ns\":%" PRIu64
                   ",\"on_cpu_ns\":%" PRIu64 ",\"run_delay_ns\":%" PRIu64
                   ",\"voluntary\":%ld,\"involuntary\":%ld%s}\n",
                   m->workload, m->reason, getpid(), gettid(), m->count, m->wait_ns, blocked,
                   m->stop.mono - m->start.mono, on_cpu, delay, end.on_cpu, end.run_delay,
                   usage.ru_nvcsw, usage.ru_nivcsw, more);
  if (write(STDOUT_FILENO, line, (size_t)n) != n) die("stdout");
}

// Forks a helper that runs `body(arg)` and dies with its parent.
static inline pid_t fork_peer(void (*body)(int), int arg) {
  pid_t pid = fork();
  if (pid < 0) die("fork");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    body(arg);
    _exit(0);
  }
  return pid;
}

// Ends a helper of ours and reaps it.
static inline void end_peer(pid_t pid) {
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
}

#endif
