#!/usr/bin/env bash
# Installs what is missing and builds a preset: scripts/build.sh [preset] [targets…]. Prints only what goes wrong.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-dev}
[ $# -eq 0 ] || shift
case $preset in
runtime-only | tsan) scripts/setup.sh --runtime ;;
*) scripts/setup.sh ;;
esac
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --preset "$preset" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
echo "building preset $preset in build/$preset"
cmake --build "build/$preset" -- "$@" >"$log" 2>&1 || { grep -vE '^\[[0-9]+/[0-9]+\] ' "$log" >&2; exit 1; }
