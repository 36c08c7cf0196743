#!/bin/sh
# Build a real Gitea from the Go module registry, once, and print its folder.
#
#   $BLUE_TEST_CACHE/gitea-1.26.0/static/   its templates, locales and public files
#   $BLUE_TEST_CACHE/gitea-1.26.0/gitea     the program; it is put there last, so it stands for all
set -eu

version=1.26.0
cache=${BLUE_TEST_CACHE:-${HOME:?HOME or BLUE_TEST_CACHE must be set}/.cache/blue-test}
dir=$cache/gitea-$version

if [ -x "$dir/gitea" ] && [ -d "$dir/static/templates" ]; then
    echo "$dir"
    exit 0
fi

miss() {
    echo "gitea $version cannot be built: $1" >&2
    exit 3
}
command -v go >/dev/null 2>&1 || miss "go is not installed"

mkdir -p "$dir"
tmp=$(mktemp -d "$dir/.build.XXXXXX")
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

echo "downloading the module of gitea $version" >&2
(cd "$tmp" && go mod download -json "code.gitea.io/gitea@v$version") >"$tmp/module.json" ||
    miss "$(grep '"Error"' "$tmp/module.json" || echo 'the module registry cannot be reached')"
module=$(sed -n 's/^[[:space:]]*"Dir": "\(.*\)",\{0,1\}$/\1/p' "$tmp/module.json")
[ -d "$module/templates" ] || miss "the module registry gave no folder"

# A copy, so that emptying the module cache does not break the server.
mkdir "$tmp/static"
cp -R "$module/options" "$module/templates" "$module/public" "$tmp/static/"
chmod -R u+w "$tmp/static"

if [ -x "$dir/gitea" ]; then
    cp "$dir/gitea" "$tmp/gitea"
else
    command -v "${CC:-cc}" >/dev/null 2>&1 || miss "there is no C compiler (its SQLite needs one)"
    echo "building gitea $version, about five minutes; later runs use $dir" >&2
    # jsonv2 is what release builds have; it changes how requests are decoded.
    (cd "$module" && GOEXPERIMENT=jsonv2 CGO_ENABLED=1 go build \
        -tags 'sqlite sqlite_unlock_notify' \
        -ldflags "-s -w -X main.Version=$version" \
        -o "$tmp/gitea" .) || miss "go build failed"
fi

rm -rf "$dir/static"
mv "$tmp/static" "$dir/static"
mv "$tmp/gitea" "$dir/gitea"
echo "$dir"
