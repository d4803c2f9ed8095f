#!/usr/bin/env bash
# Unit tests and a watched job with the address and undefined-behaviour sanitizers: asan.sh FOLDER.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
scripts/configure.sh "$build" -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_FLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
cmake --build "$build" --parallel "$(nproc)"
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=1 UBSAN_OPTIONS=print_stacktrace=1
"$build/unit_tests" --gtest_brief=1
if [[ $EUID -eq 0 ]]; then
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  "$build/jobscope" run -o "$scratch/r" --json "$scratch/j" --report "$scratch/t" -- \
    sh -c 'for i in 1 2 3 4 5; do ls /usr/bin | sort > /dev/null; done; sleep 1.2'
  "$build/jobscope" report "$scratch/r" | cmp - "$scratch/t"
  "$build/jobscope" attach --pid $$ --for 1s --report /dev/null
else
  echo "asan: not root: no job was watched" >&2
fi
echo "asan: ok"
