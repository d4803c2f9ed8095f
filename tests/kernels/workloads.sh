#!/bin/bash
# The job of a guest: one workload after the other; each prints its line of JSON. cpu_group and
# memory_group are folders of cgroups.
set -u
: "${cpu_group:?}" "${memory_group:?}"
w=/mnt/bin
big=/tmp/disk/big
kernel_reads() { awk '$3 == "vda" { print $4 }' /proc/diskstats; }

before=$(kernel_reads)
"$w/read_file" direct $big 23
echo "{\"workload\":\"diskstats\",\"reads\":$(($(kernel_reads) - before))}"

for how in direct buffered; do "$w/read_file" $how $big; done
"$w/write_file" direct $big
for how in fsync fdatasync; do "$w/write_file" $how /tmp/disk/new; done
"$w/map_fault" $big
for how in read write; do "$w/pipe_wait" $how; done
for how in recv send; do
  "$w/unix_wait" $how
  "$w/tcp_wait" $how
done
for how in epoll poll select; do "$w/poll_wait" $how; done
for how in nanosleep poll select; do "$w/sleep_wait" $how; done
for how in waitpid waitid; do "$w/child_wait" $how; done
for how in flock fcntl; do "$w/lock_wait" $how /tmp/disk/lock; done
for how in user system; do "$w/spin" $how; done
"$w/tcp_connect"
"$w/futex_pair"
"$w/omp_barrier"
"$w/stop_self"
"$w/semaphore_wait"
"$w/hog"
"$w/yield_spin"
"$w/many_waits" 211
"$w/interrupted_sleep" nanosleep
/usr/bin/python3 /mnt/bin/gil_fight.py

"$w/short_threads" 211
"$w/many_threads" 307
"$w/spawn_storm" 8 224 "$w/exit_with"
"$w/orphan"
"$w/pid_reuse"
"$w/thread_exec" "$w/exit_with" 7
"$w/kill_child"
"$w/touch_memory" 64

# In groups with limits, into which they go by themselves: 1/5 of a CPU; 64 MiB.
(echo 0 >"$cpu_group/cgroup.procs" && exec -a slow "$w/spin" user)
(echo 0 >"$memory_group/cgroup.procs" && exec "$w/touch_memory" 256)
exit 0
