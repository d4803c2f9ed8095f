#!/bin/bash
# Runs in the guest, as root: what works on this kernel, then all workloads as one job, then what needs
# a machine of its own. /mnt is the folder shared with the host; what is said there is judged there
# (test_kernels.py). /mnt/settings says how this guest differs from the others.
set -u
export LC_ALL=C.UTF-8
cd /mnt || exit 1
bin=/mnt/bin
# shellcheck source=/dev/null
. ./settings # from run.py

# cgroups=v1, hybrid or v2. Makes a group for a limit of CPU time, and one for memory.
mount_cgroups() {
  local root=/sys/fs/cgroup
  if [[ ${cgroups:?} == v2 ]]; then
    mount -t cgroup2 cgroup $root
    echo "+cpu +memory" >$root/cgroup.subtree_control
    cpu_group=$root/slow memory_group=$root/small
  else
    mount -t tmpfs cgroup $root
    mkdir $root/cpu $root/memory $root/unified
    mount -t cgroup -o cpu,cpuacct cpu $root/cpu
    mount -t cgroup -o memory memory $root/memory
    [[ $cgroups == hybrid ]] && mount -t cgroup2 cgroup $root/unified
    cpu_group=$root/cpu/slow memory_group=$root/memory/small
  fi
  mkdir $cpu_group $memory_group || exit 1
}

set_limits() { # 1/5 of a CPU, 64 MiB
  if [[ $cgroups == v2 ]]; then
    echo "20000 100000" >$cpu_group/cpu.max
    echo $((64 << 20)) >$memory_group/memory.max
  else
    echo 20000 >$cpu_group/cpu.cfs_quota_us
    echo $((64 << 20)) >$memory_group/memory.limit_in_bytes
  fi
}

said() { echo "$(cut -d' ' -f1 /proc/uptime) $*" >>'times'; }

mount_cgroups
said "up"
for setting in ${sysctls:-}; do
  echo "${setting#*=}" >"/proc/sys/${setting%=*}" || exit 1
done
{
  echo "kernel $(uname -r)"
  echo "architecture $(uname -m)"
  echo "cpus $(nproc)"
  echo "lockdown $(sed 's/.*\[\(.*\)\].*/\1/' /sys/kernel/security/lockdown)"
  echo "cgroups $(awk '$3 ~ /^cgroup/ { print $3 }' /proc/mounts | sort -u | tr '\n' ' ')"
  echo "bpf_stats $(cat /proc/sys/kernel/bpf_stats_enabled)"
  echo "unprivileged_bpf_disabled $(cat /proc/sys/kernel/unprivileged_bpf_disabled)"
} >machine

"$bin/jobscope" check >check.txt 2>check.err
echo $? >check.rc
said "check"

mkdir -p /tmp/disk
mkfs.ext4 -q -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 /dev/vda && mount -o noatime /dev/vda /tmp/disk || exit 1
dd if=/dev/urandom of=/tmp/disk/big bs=1M count=16 status=none
sync
echo 3 >/proc/sys/vm/drop_caches

export WORKLOAD_MS=300 cpu_group memory_group
set_limits
"$bin/jobscope" run --json report.json --report report.txt -o recording.jobscope -- \
  /bin/bash /mnt/workloads.sh >own.jsonl 2>stderr
echo $? >run.rc
said "the job"
"$bin/jobscope" report recording.jobscope >again.txt 2>>stderr
echo $? >report.rc
cat $cpu_group/cpu.stat >cpu.stat
echo "$memory_group" >memory_group
said "its report again"

# An ordinary user, by file capabilities; memory of maps may count against a limit of theirs.
cp "$bin/jobscope" /tmp/jobscope
setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search+ep /tmp/jobscope
mkdir -m 1777 /tmp/theirs
user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
[[ ${small_memlock:-} ]] && "${user[@]}" prlimit --memlock=65536 /tmp/jobscope check >user.check 2>&1
prlimit --memlock=unlimited "${user[@]}" \
  /tmp/jobscope run --json /tmp/theirs/json --report /tmp/theirs/report -- "$bin/short_threads" 23 >user.jsonl 2>user.err
echo $? >user.rc
cp /tmp/theirs/json user.json
said "the job of a user"

# A job that runs already.
sleep 60 &
sleeper=$!
echo $sleeper >$cpu_group/cgroup.procs
"$bin/jobscope" attach --cgroup $cpu_group --for 1s --json attach.json --report attach.txt 2>>stderr
echo $? >attach.rc
echo $sleeper >attach.pid
kill $sleeper
said "a job that ran already"

# Events as they happen, and rounds of histograms: each is ready when it has given up capabilities.
ready() { # PID
  local mine
  mine=$(grep CapEff /proc/self/status)
  for _ in {1..300}; do
    [[ $(grep CapEff "/proc/$1/status") != "$mine" ]] && return
    sleep 0.1
  done
}
"$bin/jobscope" io-latency -o --comm read_file --json >latency.jsonl 2>latency.err &
latency=$!
"$bin/jobscope" trace block --comm read_file --json --count 23 --for 60s >block.jsonl 2>block.err &
block=$!
"$bin/jobscope" trace process --comm exit_with --json --for 20s >process.jsonl 2>process.err &
process=$!
"$bin/jobscope" trace wait --over 5ms --comm sleep_wait --json >wait.jsonl 2>wait.err &
waiting=$!
"$bin/jobscope" trace tracepoint:syscalls:sys_enter_getppid --comm sleep_wait --json --for 2s >point.jsonl 2>point.err
echo $? >point.rc
for pid in $latency $block $process $waiting; do ready $pid; done
"$bin/read_file" direct /tmp/disk/big 23 >/dev/null
WORKLOAD_MS=300 "$bin/sleep_wait" >/dev/null
for _ in {1..7}; do "$bin/exit_with" 3; done
wait $block
sleep 1
kill -TERM $latency $process $waiting
wait $latency $process $waiting
said "traces"

# The programs that come with jobscope: all that can run together, and known numbers under those that look
# into the kernel.
names=$(cd "$bin/programs" && printf '%s,' *.yaml | sed 's/\.yaml//g; s/io-latency-classic,//')
for which in "$names" io-latency-classic; do
  "$bin/jobscope" programs --config.check --log.no-timestamps --config.names "$which"
  echo "rc $?"
done >programs.check 2>&1
said "all programs"

scrape() { # prints all metrics; fails when nobody listens yet
  exec 3<>/dev/tcp/127.0.0.1/9435 || return
  printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
  sed '1,/^\r$/d' <&3
}
names=biolatency,cgroup-throttling,exec,futex-waits,gpu-ioctls,io-latency,oom-kills,page-cache,runqlat
names+=,softirq-latency,syscalls-by-job,tcp-connect-latency,tcp-retransmits,timers
"$bin/jobscope" programs --config.names $names --web.listen-address 127.0.0.1:9435 >programs.log 2>&1 &
exporter=$!
for _ in {1..200}; do
  scrape >programs.before 2>/dev/null && break
  sleep 0.2
done
{
  "$bin/read_file" direct /tmp/disk/big 23
  "$bin/spawn_storm" 1 101 "$bin/exit_with"
  echo 3 >/proc/sys/vm/drop_caches
  scrape >programs.between
  dd if=/tmp/disk/big of=/dev/null bs=64k status=none
  (echo $BASHPID >$cpu_group/cgroup.procs && exec "$bin/spin")
  for _ in 1 2 3; do
    (echo $BASHPID >"$memory_group/cgroup.procs" && exec "$bin/touch_memory" 128)
  done
  sleep 60 &
  sleeper=$!
  echo $sleeper >$cpu_group/cgroup.procs # the iterator finds groups by their tasks
  cp $cpu_group/cpu.stat programs.stat
  scrape >programs.after
} >programs.own 2>&1
kill $sleeper $exporter
said "the programs, at work"
exit 0
