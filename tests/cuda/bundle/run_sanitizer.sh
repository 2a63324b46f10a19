#!/usr/bin/env bash
# compute-sanitizer's memcheck, racecheck, synccheck and initcheck on a few short tests: every strategy with one field
# and several, with stages and in 3D, run_until, reductions, transfers. Results go to ${OUT:-results}, as run_tests.sh's.
#
#   run_sanitizer.sh                     all four tools
#   run_sanitizer.sh racecheck           checks whose names contain one of these words: <tool>_<program>
#   run_sanitizer.sh --list              the checks
#   run_sanitizer.sh --gtest_filter=...  instead of the short list
#
# Looks for compute-sanitizer in PATH, then in /usr/local/cuda/bin. LIMIT (120), TOTAL, JOBS and exit status: see
# run_tests.sh.
set -uo pipefail
: "${LIMIT:=120}"
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
tool_path=$(command -v compute-sanitizer || command -v /usr/local/cuda/bin/compute-sanitizer || true)

declare -A tests=(
  [test_strategies_persistent_cuda]='short_float.s2d5pt:short_float.gray_scott:short_float.s3d7pt:short_double.fdtd'
  [test_run_persistent_cuda]='data*:reduction/0.*:run_until/0.*:run_until_with_stages.*'
  [cuda_runtime_test]='gpu_memory*:gpu_stream*'
)
tests[test_strategies_persistent_cuda]+=':short_double.s2ds9pt:until/0.never_passes_on_nan'

take_arguments "$@"

check() { # name tool program filter
  local name=$1 begin=$SECONDS log=$out/$1.log seconds status ran
  seconds=$(seconds_left)
  if ((!has_gpu)) || [[ ! $tool_path ]]; then
    report "$name" 0 0 1 0 0 "no $([[ $tool_path ]] && echo GPU || echo compute-sanitizer)"
    return
  fi
  if ((seconds < 5)); then
    report "$name" 0 0 0 1 0
    return
  fi
  STET_TEST_SECONDS=0 STET_TOTAL_SECONDS=0 limited "$log" "$seconds" "$tool_path" --tool "$2" --report-api-errors no \
    --error-exitcode 86 "$here/bin/$3" "--gtest_filter=$4"
  status=$?
  ran=$(sed -n 's/^\[  PASSED  \] \([1-9][0-9]*\) tests\{0,1\}\.$/\1/p' "$log")
  if ((status == 0)) && [[ $ran ]] && grep -qE 'ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards' "$log"; then
    report "$name" "$ran" 0 0 0 $((SECONDS - begin))
  else
    mapfile -t last < <(grep -E '^=========|^\[  FAILED' "$log" | head -n 6)
    report "$name" 0 1 0 0 $((SECONDS - begin)) "exit status $status, ${ran:-0} tests passed, see $log" "${last[@]}"
  fi
}

((list)) || write_context
for tool in memcheck racecheck synccheck initcheck; do
  for program in "${!tests[@]}"; do
    name=${tool}_${program%_persistent_cuda}
    [[ -x $here/bin/$program ]] && wanted "$name" || continue
    if ((list)); then
      echo "$name"
      continue
    fi
    names+=("$name")
    wait_for_turn "$jobs"
    check "$name" $tool "$program" "${filter:-${tests[$program]}}" &
  done
done
((!list)) || exit 0
wait
finish
