#!/bin/sh
# Writes the go.mod of the control plane with another version of Kubernetes, and its go.sum: e2e/cluster/go.MINOR.mod.
# Kubernetes requires its staging modules without a version and replaces them by folders of its repository, so
# they are replaced by the modules of the same version here. The other modules have the versions of Kubernetes itself.
#
# Usage: kubernetes.sh 1.33.9
set -eu
go=${GO:-go}
version=$1
staging=v0.${version#1.}
minor=${version%.*}
cd "$(dirname "$0")/../e2e/cluster"
file=go.$minor.mod

theirs=$("$go" mod download -modfile=go.mod -json "k8s.io/kubernetes@v$version" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
{
	sed -n '/^module /p; /^go /p' go.mod
	# The versions that Kubernetes requires, and what this module requires in addition.
	echo 'require ('
	sed -n '/^require (/,/^)/p' "$theirs" | sed -n 's/^\t\([^ ]* v[^ ]*\).*/\t\1/p' | grep -v ' v0\.0\.0$'
	sed -n 's/^\t\(go\.uber\.org\/goleak v[^ ]*\).*/\t\1/p' go.mod
	printf '\tgo.etcd.io/etcd/server/v3 v3.6.12\n' # the oldest with the configuration that etcd.go sets
	printf '\tk8s.io/kubernetes v%s\n)\n' "$version"
	echo 'replace ('
	sed -n 's/^\t\(k8s\.io\/[^ ]*\) => \.\/staging.*/\t\1 => \1 '"$staging"'/p' "$theirs"
	echo ')'
} >"$file"
rm -f "${file%.mod}.sum"
"$go" mod tidy -modfile="$file"
