#!/bin/sh
# Regenerates all code from proto/ and the pinned Kubernetes, and fails if that changes a file: the
# committed code then does not match the API.
set -eu
cd "$(dirname "$0")/.."
folders="gen docs/api clients/python/src/kubeconnect clients/python/tests/sync clients/ts/src/gen clients/ts/src/k8s clients/ts/src/types/builtingroups.ts"
state() {
	# shellcheck disable=SC2086
	find $folders -type f ! -path '*/__pycache__/*' -exec cksum {} + | sort -k3
}
before=$(state)
make --no-print-directory generate
after=$(state)
if [ "$before" != "$after" ]; then
	echo "Generated code does not match its source. It has been regenerated; commit it:" >&2
	git status --short -- $folders >&2
	exit 1
fi
