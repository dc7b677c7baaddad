#!/usr/bin/env bash
# Installs what is missing, builds, compiles examples/tinygpt.onnx for 2 x 2 x 2 ranks and trains it on real text.
#   scripts/demo.sh [steps]
set -euo pipefail
cd "$(dirname "$0")/.."
steps=${1:-50}
scripts/build.sh dev shardc shardrun shardplan
bin=build/dev/bin
out=build/demo
mkdir -p "$out"
run() { echo "\$ $*"; "$@"; }
run $bin/shardc examples/tinygpt.onnx --tp 2 --pp 2 --dp 2 --micro-batch 4 --global-batch 32 \
  --optimizer adamw --lr 1e-3 -o "$out/plan"
run $bin/shardplan verify "$out/plan"
run $bin/shardplan show "$out/plan"
run $bin/shardrun "$out/plan" --text README.md --steps "$steps" --log-dir "$out/run"
echo "metrics of each step: $out/run/metrics.jsonl"
