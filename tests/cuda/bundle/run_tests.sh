#!/usr/bin/env bash
# Runs the bundle's tests: one line per program, then a total. Results go to ${OUT:-results}: what each program printed,
# GoogleTest's own JSON, summary.json with the counts, context.json with device, driver, date and commit.
#
#   run_tests.sh                        everything
#   run_tests.sh strategies acceptance  units whose names contain one of these words
#   run_tests.sh --list                 the units
#   run_tests.sh --sanitize [word...]   compute-sanitizer's four tools on a few short tests
#   run_tests.sh --gtest_filter=...     instead of a unit's own filter
#
# LIMIT is the limit of one unit in seconds, 300 unless set. Exit status: 0 nothing failed, 1 something failed or was
# not run to its end, 77 nothing failed, but tests were skipped for want of a GPU, 2 a wrong argument.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${OUT:-results}
limit=${LIMIT:-300}
no_device='cudaErrorNoDevice|cudaErrorInsufficientDriver'

# --- Units: name, limit, program and arguments. G: a GoogleTest program; P: one that tells by its exit status ----------
units=()
add() { # kind name program [argument...]
  [[ -x $here/bin/$3 ]] && units+=("$(printf '%s\t' "$@")")
}
gtest() { add G "$@"; }
program() { add P "$@"; }

gtest runtime cuda_runtime_test
strategies=test_strategies_persistent_cuda
gtest strategies_short $strategies '--gtest_filter=short_*'
gtest streams $strategies '--gtest_filter=streams.*:each/without_stream_0.*'
gtest until $strategies '--gtest_filter=until/*'
gtest stress $strategies '--gtest_filter=stress.*'
gtest strategies_float $strategies '--gtest_filter=strategies_float.*'
gtest strategies_double $strategies '--gtest_filter=strategies_double.*'
gtest large $strategies '--gtest_filter=large_*'
gtest run test_run_persistent_cuda
gtest suite test_suite_persistent_cuda
gtest random test_random_persistent_cuda
for path in "$here"/bin/acceptance_*; do
  name=${path##*/}
  program "$name" "$name"
done
for precision in float double; do
  for boundary in fixed periodic; do
    with=(--precision "$precision" --boundary "$boundary" --verify --quiet)
    program app_heat_${precision}_$boundary heat_persistent_cuda --size 257x263 --steps 70 "${with[@]}"
    program app_gray_scott_${precision}_$boundary gray_scott_persistent_cuda --size 131x129 --steps 70 "${with[@]}"
    program app_wave_${precision}_$boundary wave_persistent_cuda --size 31x33x67 --steps 35 "${with[@]}"
    program app_jacobi_${precision}_$boundary jacobi_persistent_cuda --size 257x263 --steps 70 "${with[@]}"
  done
done
program l2_reuse l2_reuse --set-aside 4 --array 3 --stream 32 --repeats 1

# --- Arguments ---------------------------------------------------------------------------------------------------
sanitize=0 list=0 filter="" words=()
for argument; do
  case $argument in
  --sanitize) sanitize=1 ;;
  --list) list=1 ;;
  --gtest_filter=*) filter=$argument ;;
  -*)
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
  *) words+=("$argument") ;;
  esac
done
wanted() { # name
  ((${#words[@]})) || return 0
  local word
  for word in "${words[@]}"; do [[ $1 == *$word* ]] && return 0; done
  return 1
}
if ((list)); then
  for unit in "${units[@]}"; do
    IFS=$'\t' read -r _ name _ <<<"$unit"
    echo "$name"
  done
  exit 0
fi

# --- Context -----------------------------------------------------------------------------------------------------
mkdir -p "$out" || exit 2
has_gpu=0
if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then has_gpu=1; fi
told() { sed -n "s/^$1=//p" "$here/build-info" 2>/dev/null; }
text() { printf '"%s"' "$(printf '%s' "$1" | tr '\n\t' '; ' | sed 's/[\\"]/\\&/g')"; }
asked() { ((has_gpu)) && nvidia-smi --query-gpu="$1" --format=csv,noheader 2>/dev/null; }
cat >"$out/context.json" <<END
{
  "commit": $(text "$(told commit)"),
  "built": $(text "$(told built)"),
  "compilers": $(text "$(told compilers)"),
  "date": $(text "$(date -u +%Y-%m-%dT%H:%M:%SZ)"),
  "device": $(text "$(asked name)"),
  "driver": $(text "$(asked driver_version)"),
  "memory": $(text "$(asked memory.total)"),
  "clocks (SM, max)": $(text "$(asked clocks.sm,clocks.max.sm)"),
  "machine": $(text "$(uname -srm), $(getconf GNU_LIBC_VERSION 2>/dev/null), $(nproc) cores")
}
END
((has_gpu)) || echo "There is no GPU here: tests that want one count as skipped."

# --- Running -----------------------------------------------------------------------------------------------------
passed=0 failed=0 skipped=0 missed=0
summary=""
# The counts of a GoogleTest log, then a line per failure. A test that fails for want of a GPU is skipped; one without an
# end has failed; those announced and never begun are missed.
tally() { # log exit-status
  awk -v has_gpu=$has_gpu -v status="$2" -v no_device="$no_device" -v filtered="$filter" '
    /^\[==========\] Running [0-9]+ test/ { all = $3 }
    /^\[ RUN      \] / { name = $4; open = 1; absent = 0; next }
    open && $0 ~ no_device { absent = !has_gpu }
    /^\[       OK \] .* ms\)$/ { passed++; open = 0 }
    /^\[  SKIPPED \] .* ms\)$/ { skipped++; open = 0 }
    /^\[  FAILED  \] .* ms\)$/ { if (absent) skipped++; else { failed++; list = list "\n" name }; open = 0 }
    END {
      if (open) { failed++; list = list "\n" name " (did not end, exit status " status ")" }
      missed = all - passed - failed - skipped
      if (!open && status != 0 && failed == 0 && (has_gpu || skipped == 0)) {
        failed++
        list = list "\nexit status " status
      }
      if (all == 0 && failed == 0 && filtered == "") { failed++; list = list "\nno test has such a name" }
      print passed + 0, failed + 0, skipped + 0, (missed > 0 ? missed : 0) list
    }' "$1"
}
note() { # name passed failed skipped missed seconds [failure...]
  passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4)) missed=$((missed + $5))
  printf '%-44s %4d passed, %d failed, %d skipped' "$1" "$2" "$3" "$4"
  (($5)) && printf ', %d not run' "$5"
  printf ' (%d s)\n' "$6"
  summary+="$([[ $summary ]] && echo ,)
    {\"name\": \"$1\", \"passed\": $2, \"failed\": $3, \"skipped\": $4, \"not run\": $5, \"seconds\": $6}"
  shift 6
  local line
  for line; do echo "    $line"; done
}
run() { # log limit program [argument...]
  local log=$1 seconds=$2
  shift 2
  (cd "$out" && STET_TOTAL_SECONDS=${STET_TOTAL_SECONDS-$((seconds > 20 ? seconds - 10 : seconds))} \
    timeout -k 10 "$seconds" stdbuf -oL -eL "$@") >"$log" 2>&1 </dev/null
}
log_of() { (cd "$out" && echo "$PWD/$1.log"); }

if ((sanitize)); then
  tool_path=$(command -v compute-sanitizer || command -v /usr/local/cuda/bin/compute-sanitizer || true)
  checks=()
  [[ -x $here/bin/$strategies ]] && checks+=("$strategies short_float.*") && double="$strategies short_double.*"
  [[ -x $here/bin/cuda_runtime_test ]] && memory="cuda_runtime_test gpu_memory*:gpu_stream*"
  for tool in memcheck racecheck synccheck initcheck; do
    for check in "${checks[@]}" ${double:+"$double"} ${memory:+"$memory"}; do
      [[ $tool == memcheck || $check == *short_float* ]] || continue # the others are slow
      read -r binary tests <<<"$check"
      name=${tool}_${tests//[^a-z_]/}
      wanted "$name" || continue
      if ((!has_gpu)) || [[ ! $tool_path ]]; then
        note "$name" 0 0 1 0 0 "no $([[ $tool_path ]] && echo GPU || echo compute-sanitizer)"
        continue
      fi
      begin=$SECONDS log=$(log_of "$name")
      STET_TEST_SECONDS=0 STET_TOTAL_SECONDS=0 run "$log" "$limit" "$tool_path" --tool $tool --report-api-errors no \
        --error-exitcode 86 "$here/bin/$binary" "${filter:---gtest_filter=$tests}"
      status=$?
      if ((status == 0)) && grep -qE 'ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards' "$log"; then
        note "$name" 1 0 0 0 $((SECONDS - begin))
      else
        mapfile -t last < <(grep -E '^=========' "$log" | head -n 6)
        note "$name" 0 1 0 0 $((SECONDS - begin)) "exit status $status, see $log" "${last[@]}"
      fi
    done
  done
else
  for unit in "${units[@]}"; do
    IFS=$'\t' read -r -a words_of_unit <<<"$unit"
    kind=${words_of_unit[0]} name=${words_of_unit[1]} command=("${words_of_unit[@]:2}")
    wanted "$name" || continue
    command[0]=$here/bin/${command[0]}
    begin=$SECONDS log=$(log_of "$name")
    if [[ $kind == G ]]; then
      [[ ! $filter ]] || command=("${command[0]}" "$filter")
      run "$log" "$limit" "${command[@]}" "--gtest_output=json:$name.json"
      mapfile -t result < <(tally "$log" $?)
      read -r p f s m <<<"${result[0]}"
      note "$name" "$p" "$f" "$s" "$m" $((SECONDS - begin)) "${result[@]:1}"
    else
      run "$log" "$limit" "${command[@]}"
      status=$?
      if ((status == 0)); then
        note "$name" 1 0 0 0 $((SECONDS - begin))
      elif { ((!has_gpu)) && grep -qE "$no_device" "$log"; } || grep -q 'has no L2 set-aside' "$log"; then
        note "$name" 0 0 1 0 $((SECONDS - begin))
      else
        mapfile -t last < <(tail -n 3 "$log")
        note "$name" 0 1 0 0 $((SECONDS - begin)) "exit status $status" "${last[@]}"
      fi
    fi
  done
fi

printf '{\n  "passed": %d, "failed": %d, "skipped": %d, "not run": %d,\n  "units": [%s\n  ]\n}\n' \
  $passed $failed $skipped $missed "$summary" >"$out/summary.json"
echo "$passed passed, $failed failed, $skipped skipped$( ((missed)) && echo ", $missed not run")"
((failed + missed == 0)) || exit 1
((has_gpu || skipped == 0)) || exit 77
((passed + skipped > 0)) || exit 2
