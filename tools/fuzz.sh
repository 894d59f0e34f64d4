#!/bin/sh
# Runs every fuzz target for the given time (default: 1m), one on each processor at a time. A package is compiled once
# for all of its targets. Inputs are minimized for a second at most: by default Go can spend all of a short run on that.
#
# fuzz.sh [TIME [PACKAGE TARGET...]]
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}
time=${1:-1m}

# targets prints the packages with their targets, those with the most targets first.
targets() {
	git ls-files '*_test.go' | xargs grep -o '^func Fuzz[A-Za-z0-9_]*' /dev/null | sed 's|/[^/]*:func | |' |
		awk '{ targets[$1] = targets[$1] " " $2 } END { for (folder in targets) print split(targets[folder], all), "./" folder targets[folder] }' |
		sort -rn | cut -d ' ' -f 2-
}

if [ $# -lt 2 ]; then
	targets | xargs -L 1 -P "$(getconf _NPROCESSORS_ONLN)" sh tools/fuzz.sh "$time"
	exit
fi
package=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
log=$folder/log
$go test -c -fuzz=. -o "$folder/program" "$package"
cache=$($go env GOCACHE)/fuzz/$($go list "$package") # where go test -fuzz keeps its inputs

# passed reports whether a run of a target found no failing input. Up to Go 1.26 the end of the time itself can
# be reported as a failure without an input (golang/go#75804), which is not counted as one.
passed() {
	(cd "$package" && "$folder/program" -test.run '^$' -test.fuzz "^$1\$" -test.fuzztime "$time" -test.fuzzcachedir "$cache" \
		-test.parallel 1 -test.fuzzminimizetime 1s -test.timeout 30m) >"$log" 2>&1 && return
	grep -q '^ *context deadline exceeded$' "$log" && ! grep -Eq 'Failing input written|panic|minimizing' "$log"
}

for target; do
	if ! passed "$target"; then
		cat "$log" >&2
		exit 1
	fi
	printf '%-22s %-28s %s\n' "$package" "$target" "$(sed -n 's/.*execs: \([0-9]*\).*/\1 inputs/p' "$log" | tail -1)"
done
