#!/usr/bin/env bash
# The benchmark at the published sizes, as Google Benchmark's JSON in ${OUT:-results}/bench.json. Options go to
# stencil_bench, for instance --benchmark_filter=2d5pt or --suite=small.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${OUT:-results}
mkdir -p "$out"
told() { sed -n "s/^$1=//p" "$here/build-info" 2>/dev/null; }
asked() { nvidia-smi --query-gpu="$1" --format=csv,noheader 2>/dev/null | head -n 1 || true; }
context="commit=$(told commit),built=$(told built),device=$(asked name),driver=$(asked driver_version)"
"$here/bin/stencil_bench" --suite=full --benchmark_out="$out/bench.json" --benchmark_out_format=json \
  --benchmark_context="$context" "$@"
if [[ ! -s $out/bench.json ]]; then
  echo "run_bench: nothing was measured" >&2
  exit 1
fi
