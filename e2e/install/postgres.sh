#!/bin/sh
# Install PostgreSQL from the distribution where it is missing and that can be done.
# Says `skipped: why` and exits 3 where there is none. No cluster is made: tests start their own.
set -eu

there() { ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; }
miss() {
  echo "skipped: $1" >&2
  exit 3
}
if there; then exit 0; fi
command -v apt-get >/dev/null 2>&1 || miss "postgresql is not installed"
[ "$(id -u)" = 0 ] || miss "postgresql is not installed, and only root can install it"
export DEBIAN_FRONTEND=noninteractive
{
  apt-get update -q
  # The package would make a cluster and start it.
  apt-get install -q -y --no-install-recommends postgresql-common
  echo 'create_main_cluster = false' >>/etc/postgresql-common/createcluster.conf
  apt-get install -q -y --no-install-recommends postgresql
} >&2 || miss "apt could not install postgresql"
there || miss "the package has no \`initdb\`"
