#!/bin/sh
# Makes .venv, or the folder VENV, and keeps it up to date. Usage: scripts/setup.sh runtime|models|dev|llm
# Or prints an interpreter of one version of Python, if there is one: scripts/setup.sh find 3.11
# What was installed is remembered as a checksum, so a second run ends at once.
# Where models have been installed, runtime keeps them up to date too.
set -eu
cd "$(dirname "$0")/.."

venv=${VENV:-.venv}
kind=${1:-}
[ "$kind" = runtime ] && [ -e "$venv/.installed-models" ] && kind=models
case $kind in
    runtime) lock=requirements.txt ;;
    models) lock=requirements-models.txt ;;
    dev) lock=requirements-dev.txt ;;
    llm) lock=requirements-llm.txt ;;
    find) ;;
    *) echo "usage: scripts/setup.sh runtime|models|dev|llm|find" >&2; exit 2 ;;
esac

fail() {
    echo "setup: $1" >&2
    exit 1
}

# Prints the interpreter behind a name, if it is new enough. A version manager answers by folder and fails where it
# lacks what .python-version names, so it is asked outside this folder too.
interpreter() {
    for folder in . /; do
        if found=$(cd "$folder" && "$1" -c 'import sys; print(sys.executable); sys.exit(sys.version_info < (3, 11))' 2>/dev/null); then
            echo "$found"
            return
        fi
    done
    return 1
}

find_python() {
    without_venv=
    if [ -n "${PYTHON:-}" ]; then set -- "$PYTHON"; else set -- python3 python3.14 python3.13 python3.12 python3.11; fi
    for name in "$@"; do
        python=$(interpreter "$name") || continue
        if "$python" -c 'import ensurepip, venv' 2>/dev/null; then
            echo "$python"
            return
        fi
        without_venv=${without_venv:-$python}
    done
    [ -z "$without_venv" ] || fail "$without_venv has no venv module: install it (Debian, Ubuntu: sudo apt-get install ${without_venv##*/}-venv) and run make again"
    [ -z "${PYTHON:-}" ] || fail "PYTHON=$PYTHON is no Python 3.11 or newer: name another one, or leave PYTHON unset"
    fail "no Python 3.11 or newer found: install one, or name it (make setup PYTHON=/path/to/python3)"
}

# Prints the interpreter of a version, on PATH or among pyenv's, that can make a .venv; of several the oldest release.
find_version() {
    IFS=:
    folders=$PATH
    for folder in "$(pyenv root 2>/dev/null)/versions/$1".*; do
        folders=$folders:$folder/bin
    done
    found=$(
        for folder in $folders; do
            python=$(interpreter "$folder/python$1") || continue
            "$python" -c 'import ensurepip, venv, platform; print(platform.python_version())' 2>/dev/null && echo "$python"
        done | paste -d ' ' - - | sort -V | head -n 1
    )
    [ -z "$found" ] || echo "${found#* }"
}

make_venv() {
    python=$(find_python)
    trap 'rm -rf "$venv"' EXIT
    trap 'exit 130' INT TERM
    rm -rf "$venv"
    complaint=$("$python" -m venv "$venv" 2>&1) || fail "$python -m venv failed: $(echo "$complaint" | tail -n 1)"
    echo "$PWD" >"$venv/.made-in"
    trap - EXIT INT TERM
}

# Every list is whole, what builds Kaiwa included, so nothing is looked for beside it.
install() {
    echo "setup: installing $lock into $venv …"
    for what in "--require-hashes --no-deps --requirement $lock" "--no-index --no-build-isolation --no-deps --editable ."; do
        # shellcheck disable=SC2086  # several words on purpose
        output=$("$venv/bin/python" -m pip --disable-pip-version-check --quiet install $what 2>&1) && continue
        case $output in
            # Without a connection pip says only in passing that it tried again, then that a package has no versions. It says
            # that also of one without a build for this machine, when the network is there.
            *"connection broken"*"from versions: none"*)
                fail "no package index can be reached: check the network, or the proxy in https_proxy, and run make again" ;;
        esac
        echo "$output" >&2
        fail "pip failed for the reason above: fix it and run make again"
    done
}

# A folder that was moved has its old place in every script of .venv.
is_usable() {
    [ -x "$venv/bin/python" ] && [ "$(cat "$venv/.made-in" 2>/dev/null)" = "$PWD" ]
}

if [ "$kind" = find ]; then
    find_version "$2"
    exit
fi
is_usable || make_venv
installed=$venv/.installed-$kind
wanted=$(cat "$lock" pyproject.toml | cksum)
if [ "$(cat "$installed" 2>/dev/null)" != "$wanted" ]; then
    install
    echo "$wanted" >"$installed"
fi
