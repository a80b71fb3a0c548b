# Finds a Python and makes .venv with it. Read by setup.sh, which runs in the project's root.

say() { printf '%s\n' "setup: $*"; }

# The one in $PYTHON if that is set, else the first of the usual names that is new enough. Names that exist but do
# not run (the shims of version managers) are passed over.
find_python() {
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.14 python3.13 python3.12 python3.11 python; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    return 1
}

# True when .venv is whole and belongs here: a copied or moved one points elsewhere.
venv_works() {
    [ -x .venv/bin/python ] && .venv/bin/python -c '
import os, sys
import pip
sys.exit(sys.version_info < (3, 11) or not os.path.samefile(sys.prefix, ".venv"))' >/dev/null 2>&1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1 && sudo -n true >/dev/null 2>&1; then
        sudo -n "$@"
    else
        return 1
    fi
}

# Debian and Ubuntu keep the venv module in a package of its own.
install_venv_package() {
    command -v apt-get >/dev/null 2>&1 || return 1
    as_root true || return 1
    version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    say "python$version comes without venv; installing the package python$version-venv with apt-get"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >/dev/null 2>&1
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "python$version-venv" >/dev/null 2>&1 ||
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null 2>&1
}

# virtualenv carries what Debian took out of venv. It goes into a folder of ours, as a system's Python may not be
# installed into.
venv_by_virtualenv() {
    if "$1" -m virtualenv --version >/dev/null 2>&1; then
        "$1" -m virtualenv --quiet --clear .venv
        return
    fi
    "$1" -m pip --version >/dev/null 2>&1 || return 1
    bootstrap=$(mktemp -d) || return 1
    say "python comes without venv; using virtualenv from PyPI"
    "$1" -m pip install --quiet --target "$bootstrap" virtualenv >/dev/null 2>&1 &&
        PYTHONPATH="$bootstrap" "$1" -m virtualenv --quiet --clear .venv
    status=$?
    rm -rf "$bootstrap"
    return $status
}

# The venv module itself is there in most cases; what is missing is the pip that it would put in.
venv_with_pip_from_pypi() {
    "$1" -m venv --without-pip --clear .venv >/dev/null 2>&1 || return 1
    say "python comes without pip; fetching it from PyPI"
    .venv/bin/python scripts/fetch_pip.py >/dev/null 2>&1
}

make_venv() {
    "$1" -m venv --clear .venv >/dev/null 2>&1 && return 0
    install_venv_package "$1" && "$1" -m venv --clear .venv >/dev/null 2>&1 && return 0
    venv_by_virtualenv "$1" && return 0
    venv_with_pip_from_pypi "$1" && return 0
    # Half an environment would look like a whole one to whoever comes next.
    rm -rf .venv
    return 1
}
