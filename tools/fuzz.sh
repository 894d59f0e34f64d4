#!/bin/sh
# Runs every fuzz target for the given time (default: 1m), one on each processor at a time. Inputs are
# minimized for a second at most: by default Go can spend all of a short run on that.
#
# fuzz.sh [TIME [PACKAGE TARGET]]
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}
time=${1:-1m}

targets() {
	git ls-files '*_test.go' | xargs grep -l '^func Fuzz' | while read -r file; do
		sed -n "s|^func \(Fuzz[A-Za-z0-9_]*\)(.*|./$(dirname "$file") \1|p" "$file"
	done
}

if [ $# -lt 2 ]; then
	targets | xargs -n 2 -P "$(getconf _NPROCESSORS_ONLN)" sh tools/fuzz.sh "$time"
	exit
fi
package=$2 target=$3
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# passed reports whether a run found no failing input. Up to Go 1.26 the end of the time itself can
# be reported as a failure without an input (golang/go#75804), which is not counted as one.
passed() {
	"$go" test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -parallel 1 -fuzzminimizetime 1s -timeout 30m >"$log" 2>&1 && return
	grep -q '^ *context deadline exceeded$' "$log" && ! grep -Eq 'Failing input written|panic|minimizing' "$log"
}

if ! passed; then
	cat "$log" >&2
	exit 1
fi
printf '%-22s %-28s %s\n' "$package" "$target" "$(sed -n 's/.*execs: \([0-9]*\).*/\1 inputs/p' "$log" | tail -1)"
