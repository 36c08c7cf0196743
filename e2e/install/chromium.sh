#!/bin/sh
# Print where Chromium is; install it from the distribution where that can be done.
# Says `skipped: why` and exits 3 where there is none.
set -eu

for name in chromium chromium-browser google-chrome google-chrome-stable; do
  if command -v "$name" 2>/dev/null; then exit 0; fi
done
miss() {
  echo "skipped: $1" >&2
  exit 3
}
command -v apt-get >/dev/null 2>&1 || miss "chromium is not installed"
[ "$(id -u)" = 0 ] || miss "chromium is not installed, and only root can install it"
{ apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium; } >&2 ||
  miss "apt could not install chromium"
command -v chromium || miss "the package has no program \`chromium\`"
