#!/usr/bin/env bash
# Runs lit on folders or files of a build's tests and closes with "N passed, N failed". Exits 1 if a test fails.
set -uo pipefail
lit=$(command -v lit || ls /usr/lib/llvm-22/bin/lit /usr/lib/llvm-22/build/utils/lit/lit.py 2>/dev/null | head -n 1)
[ -n "$lit" ] || { echo "error: lit is not installed; run scripts/setup.sh" >&2; exit 1; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$lit" -v  "$@" 2>&1 | tee "$log" | grep -vE '^PASS: '
status=${PIPESTATUS[0]}
# lit counts in lines such as "  Passed: 12 (85.71%)"; an unresolved or timed-out test has not passed.
count() { awk -v word="$1" '$0 ~ "^ *" word " *:" { sub(/^[^:]*: */, ""); n += $1 } END { print n + 0 }' "$log"; }
passed=$(count Passed)
failed=$(($(count Failed) + $(count Unresolved) + $(count "Timed Out") + $(count "Unexpectedly Passed")))
[ "$passed" -gt 0 ] || { echo "error: no test ran" >&2; status=1; }
echo "$passed passed, $failed failed"
exit "$status"
