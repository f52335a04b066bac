#!/bin/sh
# Checks the types with the packages that the lock has for Python 3.11, the oldest one supported, where there is one on
# this machine: they may be other versions than those of a newer Python. Else with the packages of .venv.
set -eu
cd "$(dirname "$0")/.."

venv=${VENV:-.venv}
version=$("$venv/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
python=$(scripts/setup.sh find 3.11)
if [ "$version" != 3.11 ] && [ -n "$python" ]; then
    venv=.venv-3.11
    PYTHON=$python VENV=$venv scripts/setup.sh dev
fi
exec "$venv/bin/mypy" --no-error-summary --cache-dir ".mypy_cache/$venv"
