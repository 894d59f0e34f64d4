// Package conformance runs Kubernetes' own end-to-end tests, unchanged, against any address that serves the
// Kubernetes API. bin/upstream-e2e, which the module e2e/upstream builds, has all of these tests.
//
// The package promises:
//   - Every test in [scope] either runs or is in [leftOut], with the reason. A test that a new version of
//     Kubernetes adds to the scope runs, without a change here.
//   - No entry of leftOut is dead: each one matches a test in the scope.
//   - A run fails if a test fails, and also if a test that was to run did not.
//   - The report has the number of tests that passed and that failed, each failure with its message, and
//     each test that did not run with the reason: that of leftOut, or that which the test itself gave.
//
// The scope is all tests with [Conformance] in their name, and all tests of the special interest groups for
// the API: api-machinery, auth and instrumentation. Left out are the tests that need a container to run, because
// the nodes of the control plane are simulated: pods become Running, but nothing runs in them.
//
// The tests run with E2E=1. They need bin/upstream-e2e and bin/kubectl, or the paths of both in UPSTREAM_E2E_BIN and
// UPSTREAM_KUBECTL_BIN, and the programs that the harness starts. `make e2e-upstream` builds all of these and runs the
// tests.
//
// The address under test is that of the API server itself, which is the baseline: what fails here is not the
// fault of a service in between. With UPSTREAM_E2E_TARGET=kubeconnect the tests call a service that is started in
// front of it. UPSTREAM_E2E_FOCUS narrows the tests that run by a regular expression, such as Watchers.
package conformance
