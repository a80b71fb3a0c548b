#!/bin/sh
# Makes .venv and installs whence into it, editable, with what development needs. `make` calls it when it has to.
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/python.sh
. scripts/java.sh

python=$(find_python) || {
    cat >&2 <<'TEXT'
setup: whence needs Python 3.11 or newer, and none was found. Install one, then run make again:
    sudo apt-get install python3 python3-venv     (Debian 12, Ubuntu 24.04, and newer)
    sudo dnf install python3.12                   (Fedora, RHEL 9)
or name one that is not on the PATH:   make test PYTHON=/path/to/python3.12
TEXT
    exit 1
}

if ! venv_works; then
    say "making .venv with $("$python" --version 2>&1)"
    make_venv "$python" || {
        cat >&2 <<TEXT
setup: $python can make no virtual environment here. Type this, then run make again:
    sudo apt-get install python3-venv
or, without the rights to do that:
    python3 -m pip install --user --break-system-packages virtualenv
TEXT
        exit 1
    }
fi

say "installing whence and its dependencies into .venv (a minute the first time)"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' || {
    printf '%s\n' "setup: the installation failed; pip's message is above. It needs to reach PyPI, or PIP_INDEX_URL." >&2
    exit 1
}
find_java
say "done"
