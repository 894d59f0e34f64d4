#!/bin/sh
# Runs `go build -o OUTPUT` with the other arguments, which are build flags and a package, and shows
# its progress instead of each download: in a terminal as one line that is rewritten, otherwise as a
# line for every hundred packages. It prints nothing if nothing has to be compiled.
set -eu
go=${GO:-go}
output=$1
shift

# uncompiled returns the number of packages that are not in Go's build cache.
uncompiled() {
	"$go" list -deps -f '{{if .Stale}}{{.ImportPath}}{{end}}' "$@" 2>/dev/null | grep -c . || true
}

# compiled returns what `go build -v` prints, which is each package that it compiles and all
# errors, and ends with the result.
compiled() {
	"$go" build -v -o "$output" "$@" 2>&1 && echo "result: 0" || echo "result: $?"
}

terminal=
if [ -t 2 ]; then terminal=1; fi

# show shows a step; every is the number of steps between two lines outside a terminal.
show() {
	step=$1 every=$2 text=$3
	if [ "$terminal" ]; then
		printf '\r\033[K    %s' "$text" >&2
	elif [ $((step % every)) -eq 0 ]; then
		printf '    %s\n' "$text" >&2
	fi
}

clear_line() {
	if [ "$terminal" ]; then printf '\r\033[K' >&2; fi
}

report() {
	modules=0 packages=0 total=0
	while IFS= read -r line; do
		case $line in
		"result: "*)
			clear_line
			return "${line#result: }"
			;;
		"go: downloading "*)
			modules=$((modules + 1))
			show "$modules" 50 "$modules modules downloaded"
			;;
		*[!A-Za-z0-9./_~-]*)
			clear_line
			printf '%s\n' "$line" >&2
			;;
		*)
			[ "$packages" -gt 0 ] || total=$(uncompiled "$@")
			packages=$((packages + 1))
			[ "$packages" -le "$total" ] || total=$packages
			show "$packages" 100 "$packages of $total packages compiled"
			;;
		esac
	done
	return 1
}

compiled "$@" | report "$@"
