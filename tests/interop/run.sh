#!/usr/bin/env bash
# The real ebpf_exporter beside jobscope: run.sh BUILD_FOLDER. Skipped, with the reason, where the real one cannot be
# built.
set -euo pipefail
cd "$(dirname "$0")/../.."
export JOBSCOPE=${1:-build}/jobscope
export JOBSCOPE_INTEROP=${1:-build}/interop
if ! real=$(tests/interop/real_exporter.py); then
  echo "skipped: the comparison with ebpf_exporter"
  exit 0
fi
echo "== the same programs under both"
tests/interop/compare.py --ebpf-exporter "$real" tests/interop/pairs
echo "== the cases of tests/conformance under the real one"
EBPF_EXPORTER=$real /usr/bin/python3 -m pytest tests/conformance -q
