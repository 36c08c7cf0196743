#!/usr/bin/env bash
# Take one program out of a package of the distribution: debian.sh PACKAGE PROGRAM
# Prints where it is; says `skipped: why` and exits 3 where it cannot be had.
#
# The package is unpacked into the test cache, not installed: no service of it is started.
set -euo pipefail

package=$1 program=$2
cache=${BLUE_TEST_CACHE:-$HOME/.cache/blue-test}
dir=$cache/debian-$package

miss() {
  echo "skipped: $1" >&2
  exit 3
}
if found=$(command -v "$program"); then
  echo "$found"
  exit
fi
if [ ! -f "$dir/.done" ]; then
  for tool in apt-get dpkg-deb; do
    command -v "$tool" >/dev/null 2>&1 || miss "$program is not installed"
  done
  mkdir -p "$cache"
  part=$(mktemp -d "$cache/debian.XXXXXX")
  trap 'rm -rf "$part"' EXIT
  cd "$part"
  apt-get download -q "$package" >&2 ||
    { [ "$(id -u)" = 0 ] && apt-get update -q >&2 && apt-get download -q "$package" >&2; } ||
    miss "apt could not download $package"
  dpkg-deb -x "$package"_*.deb . && rm "$package"_*.deb
  touch .done
  rm -rf "$dir"
  mv "$part" "$dir"
  trap - EXIT
fi
for found in "$dir"/usr/sbin/"$program" "$dir"/usr/bin/"$program"; do
  if [ -x "$found" ]; then
    if ldd "$found" 2>/dev/null | grep -q 'not found'; then miss "$program lacks a library"; fi
    echo "$found"
    exit
  fi
done
miss "the package $package has no program \`$program\`"
