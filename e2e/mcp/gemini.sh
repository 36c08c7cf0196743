#!/usr/bin/env bash
# Gemini CLI connects to Blue, on stdio and by HTTP: gemini.sh GEMINI BLUE URL
set -euo pipefail
gemini=$1 blue=$2 url=$3

mkdir -p "$HOME/.gemini" gemini
cd gemini
# It starts servers in folders that its user trusts only.
echo "{\"$PWD\": \"TRUST_FOLDER\"}" >"$HOME/.gemini/trustedFolders.json"
echo '{"privacy": {"usageStatisticsEnabled": false}, "general": {"disableAutoUpdate": true}}' >"$HOME/.gemini/settings.json"
"$gemini" mcp add --scope user blue-stdio "$blue" mcp
"$gemini" mcp add --scope user --transport http blue-http "$url"
listed=$("$gemini" mcp list 2>&1)
echo "$listed"
for name in blue-stdio blue-http; do
  grep -E "✓ $name: .*Connected" <<<"$listed" >/dev/null
done
