#!/usr/bin/env bash
# Codex takes Blue into its configuration, then lists its tools and calls one: codex.sh CODEX SCRIPT BLUE URL
set -euo pipefail
codex=$1 script=$2 blue=$3 url=$4

# The environment is not handed on: what a server needs is named.
"$codex" mcp add blue-stdio --env FORGEJO_URL="$FORGEJO_URL" --env FORGEJO_TOKEN="$FORGEJO_TOKEN" -- "$blue" mcp
"$codex" mcp add blue-http --url "$url"
node "$script" "$codex" blue-stdio blue-http
