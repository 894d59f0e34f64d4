#!/bin/sh
# Installs the Python client of this checkout and its development tools into a virtual environment.
set -eu
cd "$(dirname "$0")/.."
client=clients/python
"$1/bin/python" -m pip install --quiet --disable-pip-version-check 'pip==26.3' # knows --group
"$1/bin/python" -m pip install --quiet --disable-pip-version-check -e $client --group $client/pyproject.toml:dev
