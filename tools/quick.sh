#!/bin/sh
# Checks what has changed since the branch main, or since SINCE, with the changes that are not committed:
# formats, vet, and the unit tests of the changed packages and of those that depend on them. It uses what is
# installed, and takes seconds; `make check` is complete.
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}
since=$(git merge-base HEAD "${SINCE:-main}" 2>/dev/null || git rev-parse HEAD)

# changed returns the changed files that exist and match one of the patterns.
changed() {
	{
		git diff --name-only --diff-filter=d "$since" -- "$@"
		git ls-files --others --exclude-standard -- "$@"
	} | sort -u
}

step() { printf '==> quick: %s\n' "$1"; }

# dependents returns the packages of the main module that use one of the given folders, or are one of them.
# The end-to-end tests are among them only if E2E is set: without a control plane they are skipped.
dependents() {
	folders=$(printf '%s\n' "$@")
	"$go" list -test -f '{{if not .ForTest}}{{.ImportPath}}{{range .Deps}} {{.}}{{end}}{{range .TestImports}} {{.}}{{end}}{{range .XTestImports}} {{.}}{{end}}{{end}}' ./... |
		awk -v module="$("$go" list -m)" -v folders="$folders" '
			BEGIN { n = split(folders, list, "\n"); for (i = 1; i <= n; i++) is[list[i] == "." ? module : module "/" list[i]] = 1 }
			/\.test / || /\.test$/ { next }
			{ for (i = 1; i <= NF; i++) if (is[$i]) { print $1; next } }'
}

format_go() {
	step "gofmt"
	unformatted=$(changed '*.go' | xargs gofmt -l)
	[ -z "$unformatted" ] || { printf 'run gofmt on:\n%s\n' "$unformatted" >&2; exit 1; }
}

# The other Go modules, whose tests need minutes, are not a part of this.
check_go() {
	folders=$(changed '*.go' '*.html' '*.json' '*.yaml' '*/testdata/*' | sed 's|/testdata/.*|/x|' | xargs -r -n 1 dirname | sort -u |
		while read -r folder; do ls "$folder"/*.go >/dev/null 2>&1 && echo "$folder" || true; done)
	[ -n "$folders" ] || return 0
	# shellcheck disable=SC2086
	packages=$(dependents $folders)
	[ -n "$packages" ] || return 0
	tested=$(echo "$packages" | grep -v '/e2e/' || true)
	step "vet of $(echo "$packages" | wc -l | tr -d ' ') packages"
	echo "$packages" | xargs "$go" vet
	step "tests of $(echo "$tested" | grep -c . || true) packages"
	[ -z "$tested" ] || echo "$tested" | xargs "$go" test -vet=off | grep -v '\[no test files\]' || exit 1
}

check_python() {
	files=$(changed 'clients/python/*.py')
	[ -n "$files" ] || return 0
	[ -x .venv/bin/ruff ] || { echo "quick: the Python client is not checked; make .venv/.installed installs what is needed" >&2; return 0; }
	step "python: ruff, mypy and tests"
	echo "$files" | xargs .venv/bin/ruff check --config clients/python/pyproject.toml
	echo "$files" | xargs .venv/bin/ruff format --check --config clients/python/pyproject.toml
	(cd clients/python && ../../.venv/bin/mypy && ../../.venv/bin/python -m pytest -q)
}

check_typescript() {
	files=$(changed 'clients/*.ts' 'clients/*.tsx')
	[ -n "$files" ] || return 0
	[ -d clients/node_modules ] || { echo "quick: the TypeScript client and the console are not checked; make console installs what is needed" >&2; return 0; }
	step "typescript: tsc, eslint, prettier, and tests of what uses the changed files"
	(
		cd clients
		files=$(echo "$files" | sed 's|^clients/||')
		npx tsc --project ts && npx tsc --project web
		echo "$files" | xargs npx eslint
		echo "$files" | xargs npx prettier --check --log-level warn
		for workspace in ts web; do
			(cd $workspace && npx vitest run --changed "$since" --passWithNoTests --silent)
		done
	)
}

format_go
check_go
check_python
check_typescript
step "passed; make check is complete"
