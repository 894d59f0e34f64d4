#!/bin/sh
# Runs the fuzz targets one after the other, each for the given time (default: 1m).
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}
time=${1:-1m}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# passed reports whether a run found no failing input. Up to Go 1.26 the end of the time itself can
# be reported as a failure without an input (golang/go#75804), which is not counted as one.
passed() {
	"$go" test "$1" -run '^$' -fuzz "^$2\$" -fuzztime "$time" -timeout 30m >"$log" 2>&1 && return
	grep -q '^ *context deadline exceeded$' "$log" && ! grep -Eq 'Failing input written|panic|minimizing' "$log"
}

for file in $(git ls-files '*_test.go' | xargs grep -l '^func Fuzz'); do
	package=./$(dirname "$file")
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		if ! passed "$package" "$target"; then
			cat "$log" >&2
			exit 1
		fi
		printf '%-22s %-28s %s\n' "$package" "$target" "$(sed -n 's/.*execs: \([0-9]*\).*/\1 inputs/p' "$log" | tail -1)"
	done
done
