#!/usr/bin/env bash
# Installs what is missing, builds, runs the tests. The last line is "N passed, N failed".
#   scripts/test.sh            preset dev
#   scripts/test.sh asan       another preset
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-dev}
scripts/build.sh "$preset" all shardc-test-depends
scripts/run-lit.sh "build/$preset/test"
