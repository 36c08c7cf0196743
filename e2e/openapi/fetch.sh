#!/bin/sh
# Fetch GitHub's published OpenAPI description into the test cache and print its path.
set -eu

version=23.0.2
cache=${BLUE_TEST_CACHE:-$HOME/.cache/blue-test}
into=$cache/octokit-openapi-$version

if [ ! -f "$into/api.github.com.json" ]; then
    command -v npm >/dev/null || { echo "npm is not installed" >&2; exit 3; }
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/octokit-openapi.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    (cd "$work" && npm pack --silent "@octokit/openapi@$version" >/dev/null && tar xzf ./*.tgz package/generated/api.github.com.json package/LICENSE)
    mkdir -p "$into"
    mv "$work/package/LICENSE" "$into/LICENSE"
    # Last, and by one rename: a half-fetched description is never taken for a whole one.
    mv "$work/package/generated/api.github.com.json" "$into/api.github.com.json"
fi
echo "$into/api.github.com.json"
