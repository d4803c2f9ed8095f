#!/usr/bin/env bash
# What jobscope costs a job: bench.sh BUILD_FOLDER [--rounds N] [--quick].
# Everything is a ratio within one interleaved run; absolute times mean nothing on a shared machine.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "$1")
shift
clang -g -O2 -target bpf -isystem "/usr/include/$(cc -print-multiarch)" -c tests/bench/nop.bpf.c -o "$build/nop.bpf.o"
cc -O2 -Wall -Wextra -o "$build/switches" tests/bench/switches.c
cc -O2 -Wall -Wextra -o "$build/attach" tests/bench/attach.c -lbpf
"$build/jobscope" check >/dev/null
exec /usr/bin/python3 tests/bench/bench.py --build "$build" "$@"
