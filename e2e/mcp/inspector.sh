#!/usr/bin/env bash
# The MCP Inspector's command line lists the tools, on stdio and by HTTP: inspector.sh INSPECTOR BLUE URL
set -euo pipefail
inspector=$1 blue=$2 url=$3

count() { node -e 'const t = JSON.parse(require("fs").readFileSync(0, "utf8")).tools; console.log(t.length)'; }
[ "$("$inspector" --cli "$blue" mcp --method tools/list | count)" = 14 ]
[ "$("$inspector" --cli "$url" --transport http --method tools/list | count)" = 14 ]
