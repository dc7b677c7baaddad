#!/usr/bin/env bash
# What is run before an issue is called resolved: everything of CI, the g++ build with its tests, the runtime alone, and
# clang-tidy over our own code.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/run
scripts/test.sh release
scripts/test.sh runtime-only
git ls-files -z 'dialects/*.cpp' 'lib/*.cpp' 'runtime/*.cpp' 'tools/*.cpp' |
  xargs -0 -n 4 -P 2 clang-tidy-22 -p build/dev --quiet --warnings-as-errors='*'
