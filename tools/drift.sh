#!/bin/sh
# Generates all code from proto/ anew and fails if that changes anything: then
# what is committed is not what the API says.
set -eu
cd "$(dirname "$0")/.."
folders="gen clients/python/src/kubeconnect clients/python/tests/sync clients/ts/src/gen"
state() {
	# shellcheck disable=SC2086
	find $folders -type f ! -path '*/__pycache__/*' -exec cksum {} + | sort -k3
}
before=$(state)
make --no-print-directory generate
after=$(state)
if [ "$before" != "$after" ]; then
	echo "Generated code has drifted from proto/. It has just been made anew; commit it:" >&2
	git status --short -- $folders >&2
	exit 1
fi
