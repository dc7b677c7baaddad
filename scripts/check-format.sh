#!/usr/bin/env bash
# Checks that all C++ is formatted by clang-format 22 with .clang-format; --fix formats it.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(--dry-run --Werror)
[ "${1:-}" = --fix ] && mode=(-i)
git ls-files -z '*.cpp' '*.h' | xargs -0 clang-format-22 "${mode[@]}"
