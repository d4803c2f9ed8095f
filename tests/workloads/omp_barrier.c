// Three OpenMP threads meet at a barrier every 20 ms; one of them is slow, so the others wait
// there.
//     omp_barrier
// The runtime must wait passively, else it spins: the program sets that in its environment and
// starts itself again. Reason: barrier. Prints, for the main thread, how many barriers, how long.
#include "workload.h"

#include <omp.h>

int main(int argc, char **argv) {
  (void)argc;
  if (getenv("GOMP_SPINCOUNT") == NULL) {
    setenv("GOMP_SPINCOUNT", "0", 1);
    setenv("OMP_WAIT_POLICY", "passive", 1);
    execv("/proc/self/exe", argv);
    die("exec");
  }
  struct measure m;
  bool going = true;
#pragma omp parallel num_threads(3)
  {
    int id = omp_get_thread_num();
    if (id == 0) m = measure_start("omp_barrier", "barrier");
#pragma omp barrier
    while (going) {
      if (id == 2) sleep_ns(20 * MS);
      if (id == 0) wait_begin(&m);
#pragma omp barrier
      if (id == 0) {
        wait_end(&m);
        going = measure_running(&m);
      }
#pragma omp barrier
    }
    if (id == 0) measure_stop(&m);
  }
  emit(&m, "");
}
