#!/usr/bin/env bash
# All tests: run.sh BUILD_FOLDER. Called by `make test` after everything is built.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "$1")

step() { printf '\n== %s\n' "$*"; }

step "layers"
scripts/check_layers.sh
step "unit tests"
"$build/unit_tests" --gtest_brief=1
step "workloads"
make --no-print-directory -C tests/workloads OUT="$build/workloads"
step "check on this kernel"
"$build/jobscope" check
step "docs/kernels.md says what the tests expect"
tests/kernels/document.py --check
step "runtime tests on this kernel"
JOBSCOPE="$build/jobscope" /usr/bin/python3 -m pytest tests/runtime -q
step "people's programs"
export JOBSCOPE_INTEROP=$build/interop
JOBSCOPE="$build/jobscope" /usr/bin/python3 -m pytest tests/conformance -q
step "the real ebpf_exporter"
tests/interop/run.sh "$build"
step "in a container"
JOBSCOPE="$build/jobscope" /usr/bin/python3 -m pytest tests/container -q -rs
step "other kernels"
tests/kernels/run.py "$build"
