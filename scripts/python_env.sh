#!/bin/bash
# Makes the Python environment of an example and prints the path of its python, and only that, on
# standard output. All else goes to standard error.
#
#   python=$(scripts/python_env.sh mindspore)
#   "$python" examples/lenet_mindspore.py
#
# NAME is that of examples/requirements-NAME.txt. The environment is made once, in a cache folder
# outside the checkout (JOBSCOPE_CACHE, else XDG_CACHE_HOME/jobscope, else ~/.cache/jobscope), and
# once more when the requirements or the Python change. Nothing is ever deleted but a half-made one:
# to free the disk, remove the cache folder.
# JOBSCOPE_PYTHON says which Python to use (default: /usr/bin/python3).
set -euo pipefail

die() {
  echo "python_env.sh: $*" >&2
  exit 1
}

examples=$(cd "$(dirname "${BASH_SOURCE[0]}")/../examples" && pwd)
if [[ $# -ne 1 || ! -f $examples/requirements-$1.txt ]]; then
  echo "usage: $0 NAME, where NAME is one of:" >&2
  (cd "$examples" && ls requirements-*.txt) | sed 's/requirements-\(.*\)\.txt/  \1/' >&2
  exit 2
fi
name=$1
requirements=$examples/requirements-$name.txt
base_python=${JOBSCOPE_PYTHON:-/usr/bin/python3}
unset PYTHONHOME PYTHONPATH

version=$("$base_python" -c 'import sys; print(sys.executable, sys.version)') ||
  die "cannot run $base_python: set JOBSCOPE_PYTHON to a Python 3.11"
# A new comment is no new requirement.
key=$({ echo "$version"; grep -Ev '^ *(#|$)' "$requirements"; } | sha256sum | cut -c 1-16)

cache=${JOBSCOPE_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/jobscope}/python
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
env=$cache/$name-$key

# The stamp is written last, so an environment without it was interrupted.
complete() { [[ -e $env/.complete && -x $env/bin/python ]]; }

build() {
  echo "python_env.sh: making $env, which takes a minute or two" >&2
  rm -rf "$env"
  "$base_python" -m venv "$env" >&2 ||
    die "cannot make a virtual environment: 'scripts/install_deps.sh demo' installs what it needs"
  # Each requirements file names every package it needs. Wheels only: nothing is compiled, and no
  # code of a package runs. Without pip's cache: these wheels would fill the disk a second time.
  "$env/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --no-cache-dir \
    --no-deps --only-binary :all: --requirement "$requirements" >&2 ||
    die "pip could not install $requirements"
  touch "$env/.complete"
}

if ! complete; then
  # pip inherits the lock: should this script be killed, the next one waits until pip has ended too.
  exec 9>"$env.lock"
  if ! flock --nonblock 9; then
    echo "python_env.sh: waiting for another one that makes $env" >&2
    flock 9
  fi
  complete || build
fi
echo "$env/bin/python"
