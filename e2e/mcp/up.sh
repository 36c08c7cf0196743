#!/usr/bin/env bash
# The lines that `blue up` prints for Claude Code and Codex, pasted: up.sh READY BIN SCRIPT
#
# READY is what `blue up --json` said, BIN a folder with the agents, SCRIPT asks Codex. Without a Codex
# in BIN it is the other's line alone.
set -euo pipefail
ready=$1 bin=$2 script=$3
PATH=$bin:$PATH

line() { node -e 'console.log(JSON.parse(process.argv[1]).add_to[process.argv[2]])' "$ready" "$1"; }
sh -c "$(line claude_code)"
listed=$(claude mcp list)
echo "$listed"
grep -E '^blue:.*Connected' <<<"$listed" >/dev/null
if [ -x "$bin/codex" ]; then
  sh -c "$(line codex)"
  node "$script" codex blue
fi
