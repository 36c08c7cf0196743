#!/usr/bin/env bash
# Claude Code finds Blue healthy, on stdio and by HTTP: claude.sh CLAUDE BLUE URL TOKEN
set -euo pipefail
claude=$1 blue=$2 url=$3 token=$4

"$claude" mcp add blue-stdio -- "$blue" mcp
"$claude" mcp add --transport http blue-http "$url" --header "Authorization: Bearer $token"
listed=$("$claude" mcp list)
echo "$listed"
for name in blue-stdio blue-http; do
  grep -E "^$name:.*Connected" <<<"$listed" >/dev/null
done
