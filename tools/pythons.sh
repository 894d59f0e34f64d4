#!/bin/sh
# Runs the tests of the Python client with each version of Python that the client supports and that
# is installed, except for the version of .venv.
set -eu
cd "$(dirname "$0")/.."
version='import sys; print("%d.%d" % sys.version_info[:2])'
tested=$(.venv/bin/python -c "$version")

# Prints the path of a version of Python that is on the PATH or was installed by pyenv.
find_python() {
	for path in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
		if [ "$("$path" -c "$version" 2>/dev/null)" = "$1" ]; then
			echo "$path"
			return
		fi
	done
}

supported=$(sed -n 's/.*"Programming Language :: Python :: \(3\.[0-9]*\)".*/\1/p' clients/python/pyproject.toml)
for python in $supported; do
	[ "$python" != "$tested" ] || continue
	path=$(find_python "$python")
	if [ -z "$path" ]; then
		echo "python $python: not installed"
		continue
	fi
	venv=.cache/python-$python
	if [ ! -e "$venv/.installed" ] || [ clients/python/pyproject.toml -nt "$venv/.installed" ]; then
		rm -rf "$venv"
		"$path" -m venv "$venv"
		sh tools/install_python.sh "$venv"
		touch "$venv/.installed"
	fi
	echo "python $python:"
	(cd clients/python && "../../$venv/bin/python" -m pytest -q -p no:cacheprovider)
done
