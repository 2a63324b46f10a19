#!/usr/bin/env bash
# Called by the target gpu_bundle (gpu-bundle.cmake), in the source folder:
#   gpu-bundle.sh <bundle> <strip> <compilers> <program>...
# Fails when a program needs a library beyond glibc; warns when the bundle is larger than 60 MB.
set -euo pipefail
bundle=$1 strip=$2 compilers=$3
shift 3

rm -rf "$bundle"
mkdir -p "$bundle/bin"
for file; do
  "$strip" -o "$bundle/bin/$(basename "$file")" "$file"
done
cp tests/cuda/bundle/*.sh "$bundle"

changed=""
[[ -z $(git status --porcelain 2>/dev/null) ]] || changed=" with changes"
{
  echo "commit=$(git rev-parse HEAD 2>/dev/null || echo unknown)$changed"
  echo "built=$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  echo "compilers=$compilers"
} >"$bundle/build-info"

bad=0
for file in "$bundle"/bin/*; do
  for needed in $(objdump -p "$file" | sed -n 's/^ *NEEDED *//p'); do
    case $needed in
    libc.so.6 | libm.so.6 | libdl.so.2 | librt.so.1 | libpthread.so.0 | ld-linux-*) ;; # glibc
    *)
      echo "gpu-bundle: $(basename "$file") needs $needed" >&2
      bad=1
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
