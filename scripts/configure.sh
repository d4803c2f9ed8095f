#!/usr/bin/env bash
# Configures a build folder, once: configure.sh FOLDER [CMake flags].
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
shift
[[ -f $folder/build.ninja && $# -eq 0 ]] && exit 0
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! cmake -S . -B "$folder" -G Ninja "${launcher[@]}" "$@" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
