#!/bin/sh
# Unpacks the distribution's MariaDB into build/mariadb, for the tests of the outbox, which start
# servers of their own from it. It is not installed, so that no service starts. If it cannot be had
# this prints the reason, and the tests that need it report it again.
set -eu

give_up() {
    echo "MariaDB is not unpacked: $1" >&2
    exit 0
}

command -v apt-get >/dev/null || give_up "there is no apt-get; install MariaDB's server by the machine's package manager"
folder=build/mariadb
rm -rf "$folder"
mkdir -p "$folder"

# The libraries that it needs may not be installed; those that everything needs are.
packages() {
    echo mariadb-server-core
    apt-cache depends mariadb-server-core 2>/dev/null |
        sed -n 's/^ *Depends: \(lib[a-z].*\)$/\1/p' | grep -v -E '^lib(c6|gcc-s1|stdc\+\+6)$'
}

download() {
    # shellcheck disable=SC2046  # several words
    (cd "$folder" && apt-get -qq download $(packages))
}
download || { apt-get -qq update && download; } || give_up "apt-get download failed"
for package in "$folder"/*.deb; do
    dpkg-deb --extract "$package" "$folder" || give_up "the packages could not be unpacked"
    rm "$package"
done
LD_LIBRARY_PATH=$(echo "$folder"/usr/lib/*-linux-gnu "$folder"/lib/*-linux-gnu | tr ' ' ':') \
    "$folder"/usr/sbin/mariadbd --version >/dev/null || {
    rm -rf "$folder"
    give_up "it does not run here; install it by the machine's package manager"
}
