#!/usr/bin/env bash
# Dependencies point one way: base ← bpf ← probes; base ← model ← session ← output; cli wires all.
# Probes never include each other. Prints each include that breaks this and fails.
set -euo pipefail
cd "$(dirname "$0")/.."

# check WHERE ALLOWED: files under WHERE may include of ours only paths that match ALLOWED.
bad=0
check() {
  local hits
  hits=$(grep -rnE '^#include "(src|probes|bpf)/' --include='*.h' --include='*.cc' --include='*.c' "$1" 2>/dev/null |
    grep -vE "#include \"($2)" || true)
  [[ -z $hits ]] && return
  echo "$hits"
  bad=1
}

check bpf 'bpf/'
check programs 'bpf/'
check src/base 'src/base/'
check src/bpf 'src/(base|bpf)/|bpf/request.h'
check src/model 'src/(base|model)/|bpf/reason.h'
check src/session 'src/(base|bpf|model|session)/|bpf/'
check src/jobs 'src/(base|model|jobs)/'
check src/http 'src/(base|http)/'
check src/programs 'src/(base|bpf|model|jobs|programs)/|bpf/'
check src/trace 'src/(base|bpf|model|jobs|trace)/|bpf/'
check src/output 'src/(base|model|output)/'
check src/otlp 'src/(base|model|output|http|otlp)/'
for probe in probes/*/; do
  check "$probe" "src/(base|bpf|model|session)/|bpf/|${probe}"
done
if ((bad)); then
  echo "layers: the includes above point the wrong way (see docs/design.md)" >&2
  exit 1
fi
echo "layers: ok"
