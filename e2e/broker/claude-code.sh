#!/usr/bin/env bash
# Claude Code signs in, works, and signs out: claude-code.sh CLAUDE HOME
# `story.mjs` says what the variables are.
set -euo pipefail
claude=$1
export HOME=$2 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1 DISABLE_TELEMETRY=1
mkdir -p "$HOME"
cd "$HOME"

health() { # WORDS
  local listed
  listed=$("$claude" mcp list)
  grep -E "^blue:.*$1" <<<"$listed" >/dev/null || { echo "not $1: $listed" >&2 && exit 1; }
}
token() { sed -n 's/.*"accessToken":"\([^"]*\)".*/\1/p' .claude/.credentials.json; }
opens() { curl -sS --noproxy '*' -o answer -w '%{http_code}' -H "authorization: Bearer $(cat kept)" "$MCP"; }

"$claude" mcp add --transport http blue "$MCP"
health 'Needs authentication'
# It wants a terminal before it opens a browser.
script -qec "'$claude' mcp login blue" /dev/null </dev/null
health Connected
(umask 077 && token >kept)
[ -s kept ]
[ "$(opens)" != 401 ]
"$claude" mcp logout blue
[ "$(opens)" = 401 ]
health 'Needs authentication'
