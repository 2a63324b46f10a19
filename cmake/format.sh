#!/usr/bin/env bash
# Formats every source that git knows or would add; with --check, only names those that are not formatted.
# Other versions of clang-format format differently: it must be 14.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(-i)
[[ ${1:-} != --check ]] || mode=(--dry-run --Werror)
git ls-files -z --cached --others --exclude-standard -- '*.hpp' '*.cpp' '*.cuh' '*.cu' |
  xargs -0 --no-run-if-empty clang-format-14 --style=file "${mode[@]}"
