// Package upstream pins the end-to-end tests of Kubernetes, so that they can be built into one program:
// bin/upstream-e2e, which `make upstream-e2e` builds together with bin/kubectl, which some of the tests run.
// The program is Kubernetes' own e2e.test, with its flags, its suite setup and all of its tests, none of them
// changed: the Makefile compiles k8s.io/kubernetes/test/e2e itself, and this module has no code.
//
// The program calls the API server of --kubeconfig, with any address. --ginkgo.focus and --ginkgo.skip
// select tests by regular expressions, --list-tests prints the names of all tests, and
// --ginkgo.json-report writes the results. The suite setup waits for kubelets and for the pods of
// kube-system only without these two flags:
//
//	bin/upstream-e2e --kubeconfig K --allowed-not-ready-nodes=-1 --minStartupPods=-1 --ginkgo.focus Watchers
//
// The versions of all modules are those of e2e/cluster/go.mod, so that the programs share most compiled packages
// with the control plane, and are of the same version. The package e2e/conformance decides which tests run,
// and runs them.
package upstream

import _ "k8s.io/kubernetes/test/e2e" // keeps the module and its dependencies in go.mod
