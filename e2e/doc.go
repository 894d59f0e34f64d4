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
// faults, daytwo, traces, transport, wire, clients, console, informer and coverage. They share kit, which has
// control planes, callers, objects and checks. Below kit, harness starts processes, traffic writes at
// random, record records a watch, and validate checks the recording; costly has the most expensive
// requests. The programs in callers are written in other languages. kubelet simulates the kubelets of pods with logs,
// commands and ports; its tests are against the API server, without the service.
//
// conformance runs Kubernetes' own tests of its API, which upstream pins, and which `make e2e-upstream` builds and runs.
//
// Tests with large dependencies are Go modules of their own: deploy tests the Helm chart, and monitoring
// its alerts and its dashboard. So are the programs cluster, the control plane, and issuer, an OpenID
// issuer. demo is the program behind `make run`.
package e2e
