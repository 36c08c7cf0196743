#!/bin/sh
# Is the committed extract what extract.mjs makes of the published description?
#   check.sh            compare
#   check.sh --write    write the extract anew
set -eu

here=$(cd "$(dirname "$0")" && pwd)
extract=$here/../../crates/blue-testkit/data/github-openapi.json

# 3 is "skipped", for the caller to judge.
skip() {
    echo "openapi: skipped: $1"
    exit 3
}

for program in node npm; do
    command -v "$program" >/dev/null || skip "$program is not installed"
done
description=$("$here/fetch.sh") || skip "the description could not be fetched"

if [ "${1:-}" = --write ]; then
    node "$here/extract.mjs" "$description" >"$extract"
    echo "openapi: wrote $(wc -c <"$extract") bytes"
    exit 0
fi
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
node "$here/extract.mjs" "$description" >"$fresh"
if ! cmp -s "$fresh" "$extract"; then
    echo "openapi: the extract is stale: run e2e/openapi/check.sh --write" >&2
    exit 1
fi
echo "openapi: ok: the extract is what the description says"
