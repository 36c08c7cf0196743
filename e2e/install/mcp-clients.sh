#!/usr/bin/env bash
# Install MCP clients and the conformance suite (npm and PyPI) into the test cache.
# Prints the folder; says `skipped: why` and exits 3 where a part is missing.
#
#   DIR/bin/node        a Node that is new enough
#   DIR/node_modules    the clients
#   DIR.venv            the Python SDK
set -euo pipefail

here=$(cd "$(dirname "$0")/../mcp" && pwd)
cache=${BLUE_TEST_CACHE:-$HOME/.cache/blue-test}
key=$(cat "$here/package.json" "$here/package-lock.json" "$here/requirements.txt" | cksum | cut -d' ' -f1)
dir=$cache/mcp-clients-$key

miss() {
  echo "skipped: $1" >&2
  exit 3
}
for tool in npm python3; do
  command -v "$tool" >/dev/null 2>&1 || miss "$tool is not installed"
done

# The suite wants Node 22; where npm has one for this machine it comes with the clients.
node_of() {
  local own
  for own in "$1"/node_modules/node-linux-*/bin/node; do
    if [ -x "$own" ] && "$own" --version >/dev/null 2>&1; then
      echo "$own"
      return
    fi
  done
  own=$(command -v node || true)
  if [ -n "$own" ] && [ "$("$own" -p 'process.versions.node.split(".")[0] >= 22')" = true ]; then echo "$own"; fi
}

if [ ! -f "$dir/.done" ]; then
  mkdir -p "$cache"
  part=$(mktemp -d "$cache/mcp-clients.XXXXXX")
  trap 'rm -rf "$part"' EXIT
  cp "$here"/package.json "$here"/package-lock.json "$here"/.npmrc "$part/"
  # Not `npm ci`: it gives up when a registry lacks an optional package of another platform.
  npm install --prefix "$part" --no-save --no-audit --no-fund --loglevel=error >&2 || miss "npm could not install the MCP clients"
  rm -rf "$dir.venv"
  python3 -m venv "$dir.venv" >&2
  "$dir.venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt" >&2 ||
    miss "pip could not install the Python SDK"
  node=$(node_of "$part")
  [ -n "$node" ] || miss "there is no Node 22 for this machine"
  mkdir "$part/bin"
  case $node in
    "$part"/*) ln -s "..${node#"$part"}" "$part/bin/node" ;;
    *) ln -s "$node" "$part/bin/node" ;;
  esac
  touch "$part/.done"
  rm -rf "$dir"
  mv "$part" "$dir"
  trap - EXIT
fi
echo "$dir"
