# shellcheck shell=bash
# What run_tests.sh, run_sanitizer.sh and run_bench.sh share; sourced by them.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${OUT:-results}
limit=${LIMIT:-300} total=${TOTAL:-540} jobs=${JOBS:-8}
no_device='cudaErrorNoDevice|cudaErrorInsufficientDriver'
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)

usage() { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; }
wanted() { # name: whether it contains one of the words, if there are any
  ((${#words[@]})) || return 0
  local word
  for word in "${words[@]}"; do [[ $1 != *$word* ]] || return 0; done
  return 1
}

# Sets list (--list), filter (the value of --gtest_filter=) and words (all else) from the arguments.
list=0 filter="" words=()
take_arguments() {
  local argument
  for argument; do
    case $argument in
    --list) list=1 ;;
    --gtest_filter=*) filter=${argument#*=} ;;
    -h | --help) usage && exit ;;
    -*)
      usage >&2
      exit 2
      ;;
    *) words+=("$argument") ;;
    esac
  done
}

# --- Context ---------------------------------------------------------------------------------------------------
has_gpu=0
if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then has_gpu=1; fi
told() { sed -n "s/^$1=//p" "$here/build-info" 2>/dev/null; }
asked() { ((has_gpu)) && nvidia-smi --query-gpu="$1" --format=csv,noheader 2>/dev/null | head -n 1; }
text() { printf '"%s"' "$(printf '%s' "$1" | tr '\n\t' '; ' | sed 's/[\\"]/\\&/g')"; }
write_context() {
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
}

# --- Units: each runs in a subshell of its own and ends with report ----------------------------------------------
names=()
wait_for_turn() { # how-many: until fewer units than this are running
  while (($(jobs -rp | wc -l) >= $1)); do wait -n; done
}
# Seconds that a unit may take: LIMIT, or what TOTAL leaves.
seconds_left() { echo $((limit < total - SECONDS ? limit : total - SECONDS)); }
limited() { # log seconds program [argument...]
  local log=$1 seconds=$2
  shift 2
  # The outer redirection is for what the shell itself says of a program that aborts.
  { (cd "$out" && exec timeout -k 10 "$seconds" "$@") >"$log" 2>&1 </dev/null; } 2>/dev/null
}
report() { # name passed failed skipped not-run seconds [line...]
  local name=$1 text
  text=$(printf '%-44s %4d passed, %d failed, %d skipped' "$1" "$2" "$3" "$4")
  (($5)) && text+=", $5 not run"
  text+=" ($6 s)"
  echo "$2 $3 $4 $5 $6" >"$out/$name.result"
  shift 6
  local line
  for line; do text+=$'\n'"    $line"; done
  echo "$text"
}

# Adds up what the units have reported, writes summary.json and ends: 0 nothing failed; 1 something failed or was not
# run to its end; 2 nothing was run; 77 nothing failed, but tests were skipped for want of a GPU.
finish() {
  local passed=0 failed=0 skipped=0 missed=0 summary="" name p f s m seconds
  for name in "${names[@]}"; do
    p=0 f=1 s=0 m=0 seconds=0 # a unit without a report has failed
    [[ ! -f $out/$name.result ]] || read -r p f s m seconds <"$out/$name.result"
    rm -f "$out/$name.result"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s)) missed=$((missed + m))
    summary+="${summary:+,}
    {\"name\": \"$name\", \"passed\": $p, \"failed\": $f, \"skipped\": $s, \"not run\": $m, \"seconds\": $seconds}"
  done
  printf '{\n  "passed": %d, "failed": %d, "skipped": %d, "not run": %d,\n  "units": [%s\n  ]\n}\n' \
    $passed $failed $skipped $missed "$summary" >"$out/summary.json"
  echo "$passed passed, $failed failed, $skipped skipped$( ((missed)) && echo ", $missed not run"), $SECONDS s"
  ((failed + missed == 0)) || exit 1
  ((passed + skipped > 0)) || {
    echo "Nothing was run." >&2
    exit 2
  }
  ((has_gpu || skipped == 0)) || exit 77
  exit 0
}
