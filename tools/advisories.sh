#!/bin/sh
# Compares the service with the Go vulnerability database by govulncheck. GOVULNDB is the URL
# of a copy, such as file:///srv/vulndb; without it https://vuln.go.dev is asked. The check
# fails if the service calls what is vulnerable, and if a copy cannot be read. It does not
# fail if vuln.go.dev cannot be reached: the check is left out then, and says so.
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
		echo "advisories: NOT CHECKED, https://vuln.go.dev cannot be reached from here; see \"Known vulnerabilities\" in docs/security.md" >&2
		exit 0
		;;
	esac
fi
govulncheck ${GOVULNDB:+-db "$GOVULNDB"} ./...
