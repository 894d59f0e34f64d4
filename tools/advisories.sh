#!/bin/sh
# Checks the service against the Go vulnerability database with govulncheck. GOVULNDB is the URL
# of a copy, such as file:///srv/vulndb; the default is https://vuln.go.dev. The check fails if
# the service calls a vulnerable function, and if a copy cannot be read. If vuln.go.dev is
# unreachable, the check is skipped with a message and does not fail.
set -eu
cd "$(dirname "$0")/.."

govulncheck() {
	"${GO:-go}" tool -modfile=tools/go.mod govulncheck "$@"
}

if [ -z "${GOVULNDB:-}" ]; then
	version=$(govulncheck -version)
	case $version in
	*"DB updated: "*) ;;
	*)
		echo "advisories: NOT CHECKED, https://vuln.go.dev is unreachable; see \"Known vulnerabilities\" in docs/security.md" >&2
		exit 0
		;;
	esac
fi
govulncheck ${GOVULNDB:+-db "$GOVULNDB"} ./...
