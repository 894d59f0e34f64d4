// Package e2e holds the end-to-end tests: real clients, the real service, a real
// control plane, and nothing in between but the network.
//
// The tests reach the service by its address alone. They import what is
// generated from the API and public libraries, never the service's own code.
// A test named TestScenarioNN stands for the scenario with that number in
// docs/scenarios.md; the other tests are named after what they show.
//
// They run with E2E=1 and need bin/devcluster and bin/kubeconnect, which `make
// build` makes, or the paths of both in DEVCLUSTER_BIN and KUBECONNECT_BIN. The
// tests with grpcurl need bin/grpcurl, which `make bin/grpcurl` makes, or its path
// in GRPCURL. Without E2E=1 nothing is run, and no test compiles anything.
//
// E2E_PATIENCE is a factor for how long tests wait before they give up. By default
// it grows with fewer processors and with the race detector.
//
// What is shared lies in packages: harness starts processes, record listens to
// a watch, validate judges what it said. The programs under callers are in other
// languages.
package e2e
