#!/usr/bin/env bash
# opencode signs in, works until its token ends and longer, and is thrown out: opencode.sh OPENCODE HOME
# `story.mjs` says what the variables are.
set -euo pipefail
opencode=$1
mkdir -p "$2"
cd "$2"
export HOME=$2 XDG_CONFIG_HOME=$2/config XDG_DATA_HOME=$2/data XDG_CACHE_HOME=$2/cache XDG_STATE_HOME=$2/state
# What it wants from the internet is refused here and now.
export HTTPS_PROXY=http://127.0.0.1:9 HTTP_PROXY=http://127.0.0.1:9 NO_PROXY=127.0.0.1,localhost
export OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_DEFAULT_PLUGINS=1 OPENCODE_DISABLE_LSP_DOWNLOAD=1

port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
echo "{\"mcp\": {\"blue\": {\"type\": \"remote\", \"url\": \"$MCP\", \"oauth\": {\"callbackPort\": $port}}}}" >opencode.json

# A machine that is busy makes it give up on a server that is well; what counts is where it gets to.
becomes() { # WORDS
  local listed
  for _ in $(seq 10); do
    listed=$("$opencode" mcp list 2>&1)
    if grep -F blue <<<"$listed" | grep -qF "$1"; then return; fi
  done
  echo "not $1: $listed" >&2
  exit 1
}
token() { node -p 'JSON.parse(require("fs").readFileSync(process.argv[1])).blue.tokens[process.argv[2]]' "$XDG_DATA_HOME/opencode/mcp-auth.json" "$1"; }
client() { node -p 'JSON.parse(require("fs").readFileSync(process.argv[1])).blue.clientInfo.clientId' "$XDG_DATA_HOME/opencode/mcp-auth.json"; }

becomes 'needs authentication'
"$opencode" mcp auth blue
first=$(token accessToken)
# Each of these connects and lists the tools; in time the token expires, and is refreshed without the user.
for _ in $(seq 30); do
  becomes connected
  if [ "$(token accessToken)" != "$first" ]; then break; fi
done
[ "$(token accessToken)" != "$first" ]

curl -sSf --noproxy '*' -d "client_id=$(client)" -d @- "${MCP%/mcp}/revoke" <<<"token=$(token refreshToken)"
becomes 'needs authentication'
