#!/bin/sh
# Writes a release to a folder: everything that users install, built from the last commit in an empty
# folder. Usage: release.sh VERSION FOLDER. VERSION must be that of the source.
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}
npm=${NPM:-npm}
python=$PWD/.venv/bin/python
version=$1

source=$(sed -n 's/^const Number = "\(.*\)"$/\1/p' internal/version/version.go)
if [ "$version" != "$source" ]; then
	echo "release: the source has version $source, not \"$version\"; docs/releases.md lists the files to change" >&2
	exit 1
fi
mkdir -p "$2"
output=$(cd "$2" && pwd)
revision=$(git rev-parse HEAD)
if ! git diff --quiet HEAD; then
	echo "release: changes that are not committed are left out" >&2
fi

# The wheel, the sdist and the npm package read this variable too.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$revision")
export SOURCE_DATE_EPOCH
clean=$(mktemp -d)
trap 'rm -rf "$clean"' EXIT
git archive "$revision" | tar -xf - -C "$clean"
rm -rf "$output"/*

echo "==> release: the console and the npm package"
(cd "$clean/clients" && "$npm" ci --silent --no-audit --no-fund --ignore-scripts && "$npm" run --silent build)
(cd "$clean/clients/ts" && "$npm" pack --silent --pack-destination "$output")
echo "==> release: the wheel and the sdist"
"$python" -m build --no-isolation --outdir "$output" "$clean/clients/python" >/dev/null
echo "==> release: the binaries, the image and the chart"
(cd "$clean/tools/release" && "$go" run . all -source ../.. -output "$output" -revision "$revision")
