// Package e2e holds the end-to-end tests: real clients, the real service and a real control plane,
// connected only by the network.
//
// The tests use the service only through its address. They import the generated code of the API and
// public libraries, never the service's own code. A test named TestScenarioNN stands for the
// scenario with that number in docs/scenarios.md; the other tests are named after what they show.
//
// They run with E2E=1 and need bin/devcluster and bin/kubeconnect, which `make build` builds, or
// the paths of both in DEVCLUSTER_BIN and KUBECONNECT_BIN. The tests with grpcurl need bin/grpcurl,
// which `make bin/grpcurl` builds, or its path in GRPCURL; the tests of the sign-in with an issuer need
// bin/issuer, which `make bin/issuer` builds, or its path in ISSUER_BIN. Without E2E=1 no test runs, and none
// compiles anything.
//
// E2E_PATIENCE multiplies the time that tests wait before they fail. By default it grows with fewer
// processors and with the race detector.
//
// The tests are in packages by what they show: scenarios, queries, writes, permissions, limits,
// faults, transport, clients, console and informer. They share kit, which has control planes, callers,
// objects and checks. Below it, harness starts processes, traffic writes at random, record records a
// watch, and validate checks the recording. The programs in callers are written in other languages.
package e2e
