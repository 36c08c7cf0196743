#!/usr/bin/env bash
# Install agents that people use (npm) into the test cache: Codex, opencode and Gemini CLI.
# Prints the folder; says `skipped: why` and exits 3 where they cannot be had.
#
# They are large, and come as programs of their own for each kind of machine: so they are apart from the
# clients without which nothing is shown.
set -euo pipefail

here=$(cd "$(dirname "$0")/../agents" && pwd)
cache=${BLUE_TEST_CACHE:-$HOME/.cache/blue-test}
key=$(cat "$here/package.json" "$here/package-lock.json" | cksum | cut -d' ' -f1)
dir=$cache/agents-$key

miss() {
  echo "skipped: $1" >&2
  exit 3
}
command -v npm >/dev/null 2>&1 || miss "npm is not installed"

if [ ! -f "$dir/.done" ]; then
  mkdir -p "$cache"
  part=$(mktemp -d "$cache/agents.XXXXXX")
  trap 'rm -rf "$part"' EXIT
  cp "$here"/package.json "$here"/package-lock.json "$here"/.npmrc "$part/"
  # Not `npm ci`: it gives up when a registry lacks an optional package of another platform.
  npm install --prefix "$part" --no-save --no-audit --no-fund --loglevel=error >&2 || miss "npm could not install the agents"
  touch "$part/.done"
  rm -rf "$dir"
  mv "$part" "$dir"
  trap - EXIT
fi
echo "$dir"
