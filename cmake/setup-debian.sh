#!/usr/bin/env bash
# Installs the packages of debian-packages.txt that are missing. Touches nothing when all are there.
set -euo pipefail
list="$(dirname "$0")/debian-packages.txt"

if ! command -v dpkg-query >/dev/null; then
  echo "setup: not a Debian system; see $list for what is needed" >&2
  exit 0
fi

missing=()
for package in $(grep -v '^#' "$list"); do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

install=(apt-get install -y --no-install-recommends "${missing[@]}")
if ((EUID != 0)); then
  printf 'setup: packages are missing; as root, run\n  apt-get update && %s\n' "${install[*]}" >&2
  exit 1
fi
echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
wait=(-o DPkg::Lock::Timeout=300)
apt-get "${wait[@]}" -q update
"${install[@]}" -q "${wait[@]}"
