#!/usr/bin/env bash
# Trains a LeNet with MindSpore under jobscope: demo.sh BUILD_FOLDER.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1

echo "demo: 1/4 building jobscope" >&2
make --no-print-directory BUILD="$build" build >&2
echo "demo: 2/4 a Python with MindSpore (some minutes the first time)" >&2
python=$(scripts/python_env.sh mindspore)
echo "demo: 3/4 the pictures" >&2
data=$build/digits
"$python" examples/digits.py "$data" >&2
echo "demo: 4/4 training, watched" >&2
exec "$build/jobscope" run --name lenet --progress -- \
  "$python" examples/lenet_mindspore.py --data "$data" "${@:2}"
