#!/usr/bin/env bash
# Formatting, clang-tidy, shellcheck and the order of layers: lint.sh BUILD_FOLDER | lint.sh --format.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t sources < <(git ls-files '*.h' '*.cc' '*.c')
if [[ ${1:-} == --format ]]; then
  clang-format -i "${sources[@]}"
  exit
fi
build=$1
failed=0
step() { printf '== %s\n' "$*"; }

step "format"
clang-format --dry-run --Werror "${sources[@]}" || failed=1

step "layers"
scripts/check_layers.sh || failed=1

step "shell"
mapfile -t scripts < <(git ls-files '*.sh' .ci/run)
shellcheck "${scripts[@]}" || failed=1

step "clang-tidy"
mapfile -t units < <(git ls-files 'src/*.cc' 'probes/*.cc')
printf '%s\0' "${units[@]}" |
  xargs -0 -n 4 -P "$(nproc)" clang-tidy -p "$build" --quiet 2> >(grep -v 'warnings generated' >&2) || failed=1

((failed == 0)) && echo "lint: ok"
exit "$failed"
