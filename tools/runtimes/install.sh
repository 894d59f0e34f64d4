#!/bin/sh
# Installs the runtimes of package.json into a folder, and links them by their names in its bin.
# Prints the names of those that there are not for this machine. No package needs to run code.
#
# install.sh FOLDER
set -eu

here=$(dirname "$0")
folder=$1

mkdir -p "$folder"
cp "$here/package.json" "$here/package-lock.json" "$folder"
cd "$folder"
${NPM:-npm} ci --loglevel=error --no-audit --no-fund --ignore-scripts

# Each runtime comes in a package for one machine, and npm installs only those for this one.
link() {
	name=$1
	shift
	for path in "$@"; do
		if [ -x "$path" ]; then
			ln -sf "../$path" "bin/$name"
			return
		fi
	done
	echo "runtimes: there is no $name for this machine" >&2
}

rm -rf bin
mkdir bin
link node20 node_modules/node20-*/bin/node
link node22 node_modules/node22-*/bin/node
link deno node_modules/@deno/*/deno
link bun node_modules/@oven/*/bin/bun
