#!/usr/bin/env bash
# Build cargo-deny once into the cache; print where it is. All else goes to stderr.
set -euo pipefail

version=0.20.2
cache="${BLUE_TEST_CACHE:-$HOME/.cache/blue-test}"
root="$cache/cargo-deny-$version"

if [ ! -x "$root/bin/cargo-deny" ]; then
  echo "building cargo-deny $version, once" >&2
  # Its own target folder, away from the workspace's locks and flags.
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$cache"
  CARGO_TARGET_DIR="$work" cargo install --locked --quiet --root "$root" "cargo-deny@$version" >&2
fi
echo "$root/bin/cargo-deny"
