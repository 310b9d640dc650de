#!/bin/sh
# Installs the PostgreSQL of the distribution, if apt-get has one that is new enough. Tests start
# servers of their own from its programs, so no cluster is created and no service is started.
# If it cannot be installed this prints the reason, and the tests that need it report it again.
set -eu

oldest=15

give_up() {
    echo "the distribution's PostgreSQL is not installed: $1" >&2
    exit 0
}

command -v apt-get >/dev/null || give_up "there is no apt-get; install PostgreSQL $oldest or newer, \
with its server programs, contrib modules and JIT, by the machine's package manager"

if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    give_up "that needs root; run: sudo sh $0"
fi

version_of_candidate() {
    apt-cache depends postgresql 2>/dev/null | sed -n 's/.*Depends: postgresql-\([0-9][0-9]*\)$/\1/p'
}

if [ -z "$(version_of_candidate)" ]; then
    $as_root apt-get -qq update || give_up "apt-get update failed"
fi
version=$(version_of_candidate)
[ -n "$version" ] || give_up "apt-get knows no package postgresql"
[ "$version" -ge "$oldest" ] || give_up "apt-get brings version $version, and $oldest is the oldest \
that is supported; apt.postgresql.org has newer ones"

packages="postgresql-$version"
# Newer distributions have a separate package for JIT.
if apt-cache show "postgresql-$version-jit" >/dev/null 2>&1; then
    packages="$packages postgresql-$version-jit"
fi

no_cluster=/etc/postgresql-common/createcluster.d/no-cluster-for-tests.conf
trap '$as_root rm -f "$no_cluster"' EXIT
$as_root mkdir -p "${no_cluster%/*}"
echo "create_main_cluster = false" | $as_root tee "$no_cluster" >/dev/null

echo "installing $packages"
install() {
    # shellcheck disable=SC2086  # several words each
    $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq install --yes --no-install-recommends $packages >/dev/null
}
# An old list of packages names files that do not exist any more.
install || { $as_root apt-get -qq update && install; } || give_up "apt-get install failed"
