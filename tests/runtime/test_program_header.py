"""programs/jobscope.bpf.h in programs that jobscope compiles itself: which bucket a value is in, and what is lost."""
import ctypes
import shutil
import subprocess

import pytest

from harness import ROOT, workload
from programs import Exporter

SOURCE = r"""
#define LOST header_lost_total
#include "jobscope.bpf.h"

#define MAX_BUCKET 10
#define WIDTH 100

COUNTER_MAP(header_exp2, BPF_MAP_TYPE_PERCPU_ARRAY, u32, MAX_BUCKET + 2, 0);
COUNTER_MAP(header_exp2zero, BPF_MAP_TYPE_HASH, struct bucket_key, MAX_BUCKET + 2, 0);
COUNTER_MAP(header_linear, BPF_MAP_TYPE_HASH, struct bucket_key, MAX_BUCKET + 2, 0);

struct value_key {
  u64 value;
};
COUNTER_MAP(header_values_total, BPF_MAP_TYPE_HASH, struct value_key, 5, 0);

SEC("tracepoint/syscalls/sys_enter_getpgid")
int on_getpgid(struct trace_event_raw_sys_enter *ctx) {
  u64 value = (u32)ctx->args[0];
  if (value < TAG || value >= TAG + 0x1000000) return 0; /* of others */
  value -= TAG;
  struct bucket_key key = {};
  increment_exp2(&header_exp2, key, value, MAX_BUCKET);
  increment_exp2zero(&header_exp2zero, key, value, MAX_BUCKET);
  increment_linear(&header_linear, key, value, WIDTH, MAX_BUCKET);
  struct value_key by_value = {.value = value};
  increment(&header_values_total, &by_value, 1);
  return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""

HISTOGRAM = """
    - name: header_{0}
      help: A test
      bucket_type: {0}
      bucket_min: 0
      bucket_max: 10
      labels:
        - name: bucket
          size: 4
          decoders:
            - name: uint"""

CONFIG = "metrics:\n  histograms:" + "".join(HISTOGRAM.format(kind) for kind in ("exp2", "exp2zero", "linear")) + """
  counters:
    - name: header_values_total
      help: A test
    - name: header_lost_total
      help: A test
"""

TAG = 0x40000000
VALUES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 99, 100, 101, 255, 256, 257, 1000, 1001, 1024, 1025, 100_003]
LINEAR_BOUNDS = range(11)
EXP2_BOUNDS = [2 ** k for k in range(11)]


def cumulative(values, bounds):
    """What a reader expects: so many are at most the bound. All are at most the last one, which has what is above."""
    return [sum(value <= bound for value in values) for bound in bounds[:-1]] + [len(values)]


def buckets(series, name):
    """The counts in the order of their bounds, without +Inf."""
    found = sorted((float(labels["le"]), value) for labels, value in series.rows(f"{name}_bucket"))
    assert found[-1][0] == float("inf") and found[-1][1] == found[-2][1]
    return [value for _, value in found[:-1]]


@pytest.mark.parametrize("before", ["", '#include "vmlinux.h"'], ids=["own types", "vmlinux.h"])
def test_buckets_sums_and_losses(tmp_path, before):
    (tmp_path / "header.bpf.c").write_text(before + SOURCE.replace("TAG", str(TAG)))
    (tmp_path / "header.yaml").write_text(CONFIG)
    libc = ctypes.CDLL(None)
    with Exporter("header", folder=tmp_path) as exporter:
        for value in VALUES:
            libc.getpgid(TAG + value)
        series = exporter.scrape()
    assert buckets(series, "header_exp2") == cumulative(VALUES, EXP2_BOUNDS)
    assert buckets(series, "header_exp2zero") == cumulative(VALUES, [0, *EXP2_BOUNDS[:-1]])
    assert buckets(series, "header_linear") == cumulative([value / 100 for value in VALUES], LINEAR_BOUNDS)
    for name in ("header_exp2", "header_exp2zero", "header_linear"):
        assert series.sum(f"{name}_count") == len(VALUES)
    assert series.sum("header_exp2_sum") == series.sum("header_exp2zero_sum") == sum(VALUES)
    assert series.sum("header_linear_sum") == sum(value // 100 for value in VALUES)
    # The map has room for five values; all others are lost, and counted.
    assert series.sum("header_values_total") == 5
    assert series.sum("header_lost_total") == len(VALUES) - 5


def test_a_shipped_program_is_compiled_from_its_source(tmp_path, disk_directory):
    """With the headers that jobscope has in itself."""
    for file in ("exec.bpf.c", "exec.yaml"):
        shutil.copy(ROOT / "programs" / file, tmp_path)
    program = disk_directory / "js_exec_source"
    shutil.copy("/bin/true", program)
    with Exporter("exec", folder=tmp_path) as exporter:
        before = exporter.scrape()
        subprocess.run(workload("spawn_storm", 1, 101, program), check=True, stdout=subprocess.DEVNULL)
        assert (exporter.scrape() - before).sum("execs_total", comm="js_exec_source") == 101
