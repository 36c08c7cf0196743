#!/usr/bin/env bash
# Build a cargo tool once into the cache; print where it is. All else goes to stderr.
#   cargo-tool.sh NAME VERSION
set -euo pipefail

tool=$1 version=$2
cache="${BLUE_TEST_CACHE:-$HOME/.cache/blue-test}"
root="$cache/$tool-$version"

if [ ! -x "$root/bin/$tool" ]; then
  echo "building $tool $version, once" >&2
  # Its own target folder, away from the workspace's locks and flags.
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$cache"
  CARGO_TARGET_DIR="$work" cargo install --locked --quiet --root "$root" "$tool@$version" >&2
fi
echo "$root/bin/$tool"
