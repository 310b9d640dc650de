#!/bin/sh
# Unpacks the distribution's nginx into build/nginx, for the tests that play pages about it. It is not
# installed, so that no service starts. If it cannot be had this prints the reason, and the tests that
# need it report it again.
set -eu

give_up() {
    echo "nginx is not unpacked: $1" >&2
    exit 0
}

command -v apt-get >/dev/null || give_up "there is no apt-get; install nginx by the machine's package manager"
folder=build/nginx
rm -rf "$folder"
mkdir -p "$folder"
(cd "$folder" && { apt-get -qq download nginx || { apt-get -qq update && apt-get -qq download nginx; }; }) ||
    give_up "apt-get download failed"
dpkg-deb --extract "$folder"/nginx_*.deb "$folder" || give_up "the package could not be unpacked"
"$folder"/usr/sbin/nginx -v 2>/dev/null || {
    rm -rf "$folder"
    give_up "it does not run here; install nginx by the machine's package manager"
}
