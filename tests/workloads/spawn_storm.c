// Many parents at once start children as fast as they can, each one after the other.
//     spawn_storm PARENTS CHILDREN PROGRAM
// Each parent starts CHILDREN / PARENTS children. A child runs PROGRAM with the one argument i % 7,
// i counting from 0 in each parent: /bin/true ignores it, exit_with exits with it. Prints how many
// children ended with which code.
#include "workload.h"

#include <spawn.h>

extern char **environ;

struct tally {
  unsigned codes[7], other;
};

static void storm(unsigned children, const char *program, int out) {
  struct tally tally = {0};
  for (unsigned i = 0; i < children; i++) {
    char digit[2] = {(char)('0' + i % 7), 0};
    char *arguments[] = {(char *)program, digit, NULL};
    pid_t child;
    int status;
    if (posix_spawn(&child, program, NULL, NULL, arguments, environ) != 0 ||
        waitpid(child, &status, 0) != child)
      die(program);
    if (WIFEXITED(status) && WEXITSTATUS(status) < 7)
      tally.codes[WEXITSTATUS(status)]++;
    else
      tally.other++;
  }
  if (write(out, &tally, sizeof tally) != sizeof tally) die("tally");
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: spawn_storm PARENTS CHILDREN PROGRAM\n");
    return 2;
  }
  unsigned parents = (unsigned)atoi(argv[1]), children = (unsigned)atoi(argv[2]) / parents;
  int ends[2];
  if (pipe(ends) != 0) die("pipe");
  for (unsigned i = 0; i < parents; i++) {
    pid_t pid = fork();
    if (pid < 0) die("fork");
    if (pid == 0) {
      storm(children, argv[3], ends[1]);
      _exit(0);
    }
  }
  struct tally sum = {0}, one;
  for (unsigned i = 0; i < parents; i++) {
    if (read(ends[0], &one, sizeof one) != sizeof one) die("a parent failed");
    for (int code = 0; code < 7; code++) sum.codes[code] += one.codes[code];
    sum.other += one.other;
  }
  while (wait(NULL) > 0) {
  }
  printf(
      "{\"workload\":\"spawn_storm\",\"pid\":%d,\"parents\":%u,\"children\":%u,\"other\":%u,"
      "\"codes\":{",
      getpid(), parents, parents * children, sum.other);
  for (int code = 0; code < 7; code++)
    printf("%s\"%d\":%u", code ? "," : "", code, sum.codes[code]);
  puts("}}");
}
