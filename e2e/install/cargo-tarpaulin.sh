#!/usr/bin/env bash
# Build cargo-tarpaulin once into the cache; print where it is. All else goes to stderr.
set -euo pipefail

version=0.37.5
cache="${BLUE_TEST_CACHE:-$HOME/.cache/blue-test}"
root="$cache/cargo-tarpaulin-$version"

if [ ! -x "$root/bin/cargo-tarpaulin" ]; then
  echo "building cargo-tarpaulin $version, once" >&2
  # Its own target folder, away from the workspace's locks and flags.
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$cache"
  CARGO_TARGET_DIR="$work" cargo install --locked --quiet --root "$root" "cargo-tarpaulin@$version" >&2
fi
echo "$root/bin/cargo-tarpaulin"
