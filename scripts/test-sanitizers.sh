#!/usr/bin/env bash
# The sanitizer runs: one model end to end and the unit tests under address and undefined behaviour, the runtime's
# communicator under the thread sanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."

# LLVM's own libraries are not instrumented: what their allocators poison in our code and unpoison in theirs, or containers
# that they grow, would look wrong. MLIR leaves its context to the end of the process.
export ASAN_OPTIONS=detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0
scripts/build.sh asan shardc shardc-opt shardrun shardplan shardc-unit-tests
scripts/run-lit.sh build/asan/test/Sanitizers build/asan/test/Unit/runtime.test

scripts/build.sh tsan shardc-unit-tests
TSAN_OPTIONS=halt_on_error=1 build/tsan/bin/shardc-unit-tests --gtest_filter='*Comm*:*Local*:*Collective*' --gtest_brief=1
