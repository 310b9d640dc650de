#!/bin/sh
# Installs Chromium for the tests in a browser, if apt-get has it.
set -eu
if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
	echo "Chromium is missing, and only root can install it by apt-get: install \`chromium\`" >&2
	exit 1
fi
apt-get update --quiet=2
DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2 --no-install-recommends chromium
