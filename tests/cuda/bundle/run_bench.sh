#!/usr/bin/env bash
# Benchmarks at published sizes, as Google Benchmark's JSON in ${OUT:-results}/bench.json: medians of five repetitions.
#
#   run_bench.sh                                   the rows below
#   run_bench.sh --benchmark_filter='^suite/3d'    others of the suite; all options go to stencil_bench
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

rows=(
  '2d5pt/(float|double)/8192x8192/persistent_cuda:per_step'
  '2d5pt/(float|double)/2048x2048/persistent_cuda:resident'
  '2d5pt/float/3072x3072/persistent_cuda:resident'
  '2d5pt/double/3072x3072/persistent_cuda:resident_partial'
  '(2ds9pt|2d9pt)/(float|double)/2048x2048/persistent_cuda:resident'
  '2d25pt/float/2048x2048/persistent_cuda:resident'
  '2d25pt/double/2048x2048/persistent_cuda:resident_partial'
  '2d13pt/float/3072x3072/persistent_cuda:resident'
  '2d13pt/double/3072x3072/persistent_cuda:resident_partial'
  '3d7pt/float/192x192x192/persistent_cuda:resident'
  '3d7pt/float/256x256x256/persistent_cuda:resident_partial'
  '(2d5pt|2ds9pt|2d13pt|2d17pt|2d21pt|2ds25pt|2d9pt|2d25pt)/(float|double)/8192x8192/persistent_cuda:temporal'
  '(3d7pt|3d13pt|3d17pt|3d27pt|poisson)/(float|double)/512x512x512/persistent_cuda:temporal'
  '3d7pt/(float|double)/256x256x256/persistent_cuda:temporal'
)
filter=$(IFS='|' && echo "${rows[*]}")
context="commit=$(told commit),built=$(told built),device=$(asked name || true),driver=$(asked driver_version || true)"
rm -f "$out/bench.json"
timeout -k 10 "$total" "$here/bin/stencil_bench" --suite=full "--benchmark_filter=^suite/($filter)/manual_time$" \
  --benchmark_repetitions=5 --benchmark_min_time=0.1 --benchmark_display_aggregates_only=true \
  --benchmark_out="$out/bench.json" --benchmark_out_format=json --benchmark_context="$context" "$@"
if ! grep -q '"GCells/s"' "$out/bench.json"; then
  echo "run_bench: nothing was measured" >&2
  exit 1
fi
if grep -q '"error_occurred": true' "$out/bench.json"; then
  echo "run_bench: rows above say why they could not be measured" >&2
  exit 1
fi
