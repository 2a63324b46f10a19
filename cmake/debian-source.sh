#!/usr/bin/env bash
# Unpacks the source of a Debian package that is not installed as one:
#   debian-source.sh <package> <folder>
# Needs neither root nor deb-src lines in the machine's own lists: it keeps lists of its own, beside <folder>.
set -euo pipefail
package=$1 folder=$2
work=$folder.apt
trap 'rm -rf "$work"' EXIT
rm -rf "$work"
mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/sources"
shopt -s nullglob
for list in /etc/apt/sources.list.d/debian*.sources; do
  sed 's/^Types:.*/Types: deb-src/' "$list" >"$work/sources/$(basename "$list")"
done
if [[ -f /etc/apt/sources.list ]]; then
  sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >"$work/sources/lines.list"
fi
apt=(apt-get -q -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$work/sources"
  -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work" -o APT::Sandbox::User=)
"${apt[@]}" update
(cd "$work" && "${apt[@]}" source --download-only "$package")
rm -rf "$folder"
mkdir -p "$folder"
tar -xf "$work"/*.orig.tar.* -C "$folder" --strip-components 1
