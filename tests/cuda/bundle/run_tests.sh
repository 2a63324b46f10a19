#!/usr/bin/env bash
# Runs the bundle's tests: one line per unit, then a total. Results go to ${OUT:-results}: what each unit printed,
# GoogleTest's own JSON, summary.json with the counts, context.json with device, driver, date and commit.
#
#   run_tests.sh                        everything
#   run_tests.sh strategies acceptance  units whose names contain one of these words
#   run_tests.sh --list                 the units
#   run_tests.sh --gtest_filter=...     GoogleTest units alone, and of these such tests
#
# LIMIT  seconds for one unit, 300 unless set
# TOTAL  seconds for all, 540 unless set: what has not begun by then is "not run", which counts as failed
# JOBS   units at once, 8 unless set, as most of their time goes into plain loops on the host; those that hold
#        multiprocessors or the L2 cache run alone
# Exit status: 0 nothing failed, 1 something failed or was not run to its end, 77 nothing failed, but tests were skipped
# for want of a GPU, 2 a wrong argument, or nothing was run.
set -uo pipefail
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

# --- Arguments ---------------------------------------------------------------------------------------------------
take_arguments "$@"

# --- Units: turn, kind, name, shard, shards, program and arguments. G: GoogleTest; P: told by the exit status ----------
units=()
add() { # turn kind name shards program [argument...]
  local turn=$1 kind=$2 name=$3 shards=$4 i of=""
  shift 4
  [[ -x $here/bin/$1 ]] || return 0
  for ((i = 0; i < shards; ++i)); do
    ((shards > 1)) && of=_$((i + 1))_of_$shards
    units+=("$(printf '%s\t' "$turn" "$kind" "$name$of" "$i" "$shards" "$@")")
  done
}
add alone G runtime 1 cuda_runtime_test ${filter:+"--gtest_filter=$filter"}
add alone P l2_reuse 1 l2_reuse --set-aside 4 --array 3 --stream 32 --repeats 1
strategies=test_strategies_persistent_cuda side_by_side='strategies_*:large_*:short_*:until/*'
if [[ $filter ]]; then
  add alone G strategies 1 $strategies "--gtest_filter=$filter"
else
  add alone G strategies_alone 1 $strategies "--gtest_filter=-$side_by_side"
  add shared G strategies 16 $strategies "--gtest_filter=$side_by_side"
fi
for name in run suite random; do
  add shared G $name 1 test_${name}_persistent_cuda ${filter:+"--gtest_filter=$filter"}
done
for path in "$here"/bin/acceptance_*; do add shared P "${path##*/}" 1 "${path##*/}"; done
for precision in float double; do
  for boundary in fixed periodic; do
    for app in 'heat 257x263 70' 'gray_scott 131x129 70' 'wave 31x33x67 35' 'jacobi 257x263 70'; do
      read -r app size steps <<<"$app"
      add shared P app_${app}_${precision}_$boundary 1 ${app}_persistent_cuda --size "$size" --steps "$steps" \
        --precision $precision --boundary $boundary --verify --quiet
    done
  done
done

# --- Running -----------------------------------------------------------------------------------------------------
# The counts of a GoogleTest log, then a line per failure. A test that fails for want of a GPU is skipped; one without an
# end has failed; those announced and never begun are missed.
tally() { # log exit-status
  awk -v has_gpu=$has_gpu -v status="$2" -v no_device="$no_device" '
    /^\[==========\] Running [0-9]+ test/ { all = $3; announced = 1 }
    /^\[ RUN      \] / { name = $4; open = 1; absent = 0; next }
    open && $0 ~ no_device { absent = !has_gpu }
    /^\[       OK \] .* ms\)$/ { passed++; open = 0 }
    /^\[  SKIPPED \] .* ms\)$/ { skipped++; open = 0 }
    /^\[  FAILED  \] .* ms\)$/ { if (absent) skipped++; else { failed++; list = list "\n" name }; open = 0 }
    END {
      if (open) { failed++; list = list "\n" name " (did not end, exit status " status ")" }
      missed = all - passed - failed - skipped
      if (!open && (!announced || status != 0 && failed == 0 && (has_gpu || skipped == 0))) {
        failed++
        list = list "\nexit status " status
      }
      print passed + 0, failed + 0, skipped + 0, (missed > 0 ? missed : 0) list
    }' "$1"
}
run_unit() { # kind name shard shards program [argument...]
  local kind=$1 name=$2 shard=$3 shards=$4 begin=$SECONDS log=$out/$2.log seconds status
  shift 4
  local command=(stdbuf -oL -eL "$here/bin/$1" "${@:2}")
  seconds=$(seconds_left)
  if ((seconds < 5)); then
    report "$name" 0 0 0 1 0
    return
  fi
  if [[ $kind == G ]]; then
    ((shards == 1)) || export GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard
    # The watchdog of a program that has one says which test it was.
    STET_TOTAL_SECONDS=${STET_TOTAL_SECONDS-$((seconds > 20 ? seconds - 10 : seconds))} \
      limited "$log" "$seconds" "${command[@]}" "--gtest_output=json:$name.json"
    mapfile -t result < <(tally "$log" $?)
    read -r p f s m <<<"${result[0]}"
    report "$name" "$p" "$f" "$s" "$m" $((SECONDS - begin)) "${result[@]:1}"
    return
  fi
  limited "$log" "$seconds" "${command[@]}"
  status=$?
  if ((status == 0)); then
    report "$name" 1 0 0 0 $((SECONDS - begin))
  elif { ((!has_gpu)) && grep -qE "$no_device" "$log"; } || grep -q 'has no L2 set-aside' "$log"; then
    report "$name" 0 0 1 0 $((SECONDS - begin))
  else
    mapfile -t last < <(tail -n 3 "$log")
    report "$name" 0 1 0 0 $((SECONDS - begin)) "exit status $status" "${last[@]}"
  fi
}

((list)) || write_context
for unit in "${units[@]}"; do
  IFS=$'\t' read -r -a words_of_unit <<<"$unit"
  turn=${words_of_unit[0]} kind=${words_of_unit[1]} name=${words_of_unit[2]}
  [[ ! $filter || $kind == G ]] && wanted "$name" || continue
  if ((list)); then
    echo "$name"
    continue
  fi
  names+=("$name")
  if [[ $turn == shared ]]; then
    wait_for_turn "$jobs"
    run_unit "${words_of_unit[@]:1}" &
  else
    wait
    run_unit "${words_of_unit[@]:1}"
  fi
done
((!list)) || exit 0
wait
finish
