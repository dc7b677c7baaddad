#!/usr/bin/env bash
# Installs the Debian packages that building and testing need. Prints what it installs; does nothing when nothing is missing.
#   scripts/setup.sh             the compiler and the runtime
#   scripts/setup.sh --runtime   the runtime alone (no LLVM)
set -euo pipefail

runtime=(g++ cmake ninja-build libprotobuf-dev protobuf-compiler libdnnl-dev nlohmann-json3-dev libcli11-dev libfmt-dev
  libgtest-dev llvm-22-tools libopenmpi-dev openmpi-bin libboost-context-dev)
compiler=(libmlir-22-dev mlir-22-tools llvm-22-dev clang-22 libclang-rt-22-dev clang-format-22 clang-tidy-22 lld-22 mold ccache
  libonnx-dev)

packages=("${runtime[@]}")
[ "${1:-}" = --runtime ] || packages+=("${compiler[@]}")

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

sudo=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "error: packages are missing and need root to install: ${missing[*]}" >&2; exit 1; }
  sudo=(sudo)
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
