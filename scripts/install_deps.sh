#!/bin/bash
# Installs, on Debian 12, what jobscope needs.
#
#   scripts/install_deps.sh [build|test|demo]
#
# build: to build it; test: to build and to test it (default); demo: to build it and to run examples.
# Quick and silent when all is there.
set -euo pipefail

build=(
  build-essential cmake ninja-build pkg-config
  bpftool clang llvm
  libbpf-dev libboost1.81-dev libcap-dev libcli11-dev libcrypt-dev libelf-dev libexpected-dev libfmt-dev
  libprotozero-dev libre2-dev libsqlite3-dev libssl-dev libyaml-cpp-dev nlohmann-json3-dev zlib1g-dev
  libgmock-dev libgtest-dev
)
test=(
  ccache clang-format clang-tidy curl git jq libclang-rt-14-dev patch pci.ids python3 python3-pytest python3-venv
  python3-yaml shellcheck
  e2fsprogs gcc iproute2 kmod libcap2-bin libgomp1 openssl procps sqlite3 strace sudo util-linux
  busybox-static cpio debian-archive-keyring g++-aarch64-linux-gnu gawk qemu-system-arm
  qemu-system-x86 xz-utils zstd
  buildah debootstrap podman runc
)

group=${1:-test}
case $group in
  build) packages=("${build[@]}") ;;
  test) packages=("${build[@]}" "${test[@]}") ;;
  demo) packages=("${build[@]}" python3-venv) ;;
  *)
    echo "usage: $0 [build|test|demo]" >&2
    exit 2
    ;;
esac

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "This is not a Debian system. Please install what these Debian 12 packages hold:" >&2
  printf '  %s\n' "${packages[@]}" >&2
  exit 2
fi

# dpkg-query fails when it does not know a package: that one is missing, too.
installed=$(dpkg-query --show --showformat '${Package} ${db:Status-Status}\n' "${packages[@]}" \
  2>/dev/null | sed -n 's/ installed$//p' || true)
missing=()
for package in "${packages[@]}"; do
  grep --quiet --line-regexp --fixed-strings "$package" <<<"$installed" || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  exit 0
fi

if [[ $EUID -ne 0 ]]; then
  echo "Only root may install packages. Please run:" >&2
  echo "  sudo apt-get update && sudo apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 2
fi

export DEBIAN_FRONTEND=noninteractive
# Waits when another apt-get runs, and keeps configuration files that somebody changed.
options=(-qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=600 -o Dpkg::Options::=--force-confold)
apt-get "${options[@]}" update
apt-get "${options[@]}" install --yes --no-install-recommends "${missing[@]}"
