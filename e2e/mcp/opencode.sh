#!/usr/bin/env bash
# opencode connects to Blue, on stdio and by HTTP: opencode.sh OPENCODE BLUE URL
set -euo pipefail
opencode=$1 blue=$2 url=$3

# Nothing is fetched that is not asked for.
export OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_DEFAULT_PLUGINS=1
mkdir -p opencode
cd opencode
cat >opencode.json <<END
{"autoupdate": false, "share": "disabled", "mcp": {
  "blue-stdio": {"type": "local", "command": ["$blue", "mcp"]},
  "blue-http": {"type": "remote", "url": "$url"}}}
END
listed=$("$opencode" mcp list 2>&1)
echo "$listed"
for name in blue-stdio blue-http; do
  grep -E "✓ $name .*connected" <<<"$listed" >/dev/null
done
