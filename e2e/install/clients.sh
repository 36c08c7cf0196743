#!/usr/bin/env bash
# Install the clients that other people wrote (npm and PyPI) into the test cache.
# Prints the folder; says `skipped: why` and exits 3 where a part is missing.
set -euo pipefail

here=$(cd "$(dirname "$0")/../clients" && pwd)
cache=${BLUE_TEST_CACHE:-$HOME/.cache/blue-test}
key=$(cat "$here/package.json" "$here/package-lock.json" "$here/requirements.txt" | cksum | cut -d' ' -f1)
dir=$cache/clients-$key

for tool in node npm python3; do
  if ! command -v "$tool" >/dev/null 2>&1; then
    echo "skipped: $tool is not installed" >&2
    exit 3
  fi
done

if [ ! -f "$dir/.done" ]; then
  mkdir -p "$cache"
  part=$(mktemp -d "$cache/clients.XXXXXX")
  trap 'rm -rf "$part"' EXIT
  cp "$here"/package.json "$here"/package-lock.json "$here"/.npmrc "$part/"
  npm ci --prefix "$part" --no-audit --no-fund --loglevel=error >&2
  rm -rf "$dir.venv"
  python3 -m venv "$dir.venv" >&2
  "$dir.venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt" >&2
  touch "$part/.done"
  rm -rf "$dir"
  mv "$part" "$dir"
  trap - EXIT
fi
echo "$dir"
