#!/bin/sh
# Finds the browser in which the page is tested, or installs one. `make test` calls it after the set-up.
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/python.sh

chromium_works() {
    command -v chromedriver >/dev/null 2>&1 || return 1
    command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 ||
        command -v google-chrome >/dev/null 2>&1
}

install_chromium() {
    command -v apt-get >/dev/null 2>&1 && as_root true || return 1
    say "the page is tested in a browser; installing the packages chromium and chromium-driver with apt-get"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >/dev/null 2>&1
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        chromium chromium-driver >/dev/null 2>&1
}

# Only the tests that look at the page in a browser need it, and they say so when they are skipped.
find_chromium() {
    chromium_works && return 0
    install_chromium && chromium_works && return 0
    cat >&2 <<'TEXT'
setup: the page of `whence serve` is tested in Chromium, and none was found. Everything else works. To install it:
    sudo apt-get install chromium chromium-driver     (Debian 12)
TEXT
}

find_chromium
