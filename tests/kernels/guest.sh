#!/bin/bash
# Runs in the guest, as root: what works on this kernel, then all workloads as one job. /mnt is the
# folder shared with the host; what is said there is judged there (test_kernels.py).
set -u
export LC_ALL=C.UTF-8
cd /mnt || exit 1
bin=/mnt/bin

uname -r >kernel
"$bin/jobscope" check >check.txt 2>check.err
echo $? >check.rc

mkdir -p /tmp/disk
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/vda && mount -o noatime /dev/vda /tmp/disk || exit 1
dd if=/dev/urandom of=/tmp/disk/big bs=1M count=16 status=none
sync
echo 3 >/proc/sys/vm/drop_caches

export WORKLOAD_MS=300
"$bin/jobscope" run --json report.json --report report.txt -o recording.jobscope -- \
  /bin/bash /mnt/workloads.sh >own.jsonl 2>stderr
echo $? >run.rc
"$bin/jobscope" report recording.jobscope >again.txt 2>>stderr
"$bin/jobscope" run --report attach.none -- true
