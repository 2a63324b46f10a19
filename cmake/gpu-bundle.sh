#!/usr/bin/env bash
# Called by the target gpu_bundle (gpu-bundle.cmake), in the source folder:
#   gpu-bundle.sh <bundle> <strip> <compilers> <program>... -- <shared library>...
# Fails when a program needs a library that the bundle does not hold; warns when the bundle is larger than 60 MB.
set -euo pipefail
bundle=$1 strip=$2 compilers=$3
shift 3

rm -rf "$bundle"
mkdir -p "$bundle/bin" "$bundle/lib"
to=bin
for file; do
  if [[ $file == -- ]]; then
    to=lib
  elif [[ $to == bin ]]; then
    "$strip" -o "$bundle/bin/$(basename "$file")" "$file"
  else
    name=$(objdump -p "$file" | sed -n 's/^ *SONAME *//p')
    "$strip" --strip-unneeded -o "$bundle/lib/$name" "$file"
  fi
done
cp tests/cuda/bundle/run_tests.sh tests/cuda/bundle/run_bench.sh "$bundle"

changed=""
[[ -z $(git status --porcelain 2>/dev/null) ]] || changed=" with changes"
{
  echo "commit=$(git rev-parse HEAD 2>/dev/null || echo unknown)$changed"
  echo "built=$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  echo "compilers=$compilers"
} >"$bundle/build-info"

bad=0
for file in "$bundle"/bin/* "$bundle"/lib/*; do
  [[ -f $file ]] || continue
  for needed in $(objdump -p "$file" | sed -n 's/^ *NEEDED *//p'); do
    case $needed in
    libc.so.6 | libm.so.6 | libdl.so.2 | librt.so.1 | libpthread.so.0 | ld-linux-*) ;; # glibc
    *)
      if [[ ! -f $bundle/lib/$needed ]]; then
        echo "gpu-bundle: $(basename "$file") needs $needed" >&2
        bad=1
      fi
      ;;
    esac
  done
done
bytes=$(du -sb "$bundle" | cut -f1)
echo "$bundle: $((bytes / 1000000)) MB, $(find "$bundle/bin" -type f | wc -l) programs, commit $(sed -n 's/^commit=//p' "$bundle/build-info")"
if ((bytes > 60000000)); then
  echo "gpu-bundle: warning: larger than 60 MB" >&2
fi
exit $bad
