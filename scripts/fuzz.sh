#!/usr/bin/env bash
# libFuzzer, with the address and undefined-behaviour sanitizers, on each target of tests/fuzz:
# fuzz.sh FOLDER SECONDS. What it finds is left in FOLDER/found.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
seconds=$2
scripts/configure.sh "$build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
  -DJOBSCOPE_LIBFUZZER=ON -DCMAKE_CXX_FLAGS="-fsanitize=fuzzer-no-link,address,undefined -g"
targets=()
for source in tests/fuzz/*_fuzz.cc; do
  name=$(basename "$source" _fuzz.cc)
  targets+=("fuzz_$name")
done
cmake --build "$build" --parallel "$(nproc)" --target "${targets[@]}"
mkdir -p "$build/found"
for target in "${targets[@]}"; do
  corpus=$build/corpus/$target
  mkdir -p "$corpus"
  "$build/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$build/found/" \
    -print_final_stats=1 "$corpus" "tests/fuzz/corpus/${target#fuzz_}"
done
echo "fuzz: ok"
