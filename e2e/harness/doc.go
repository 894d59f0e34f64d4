// Package harness starts and stops what the end-to-end tests need: a control plane, the service,
// and a proxy between the two that can inject faults.
//
// The package uses the service as an operator does, through its flags, log and address, and never
// imports its code. Every process that it starts ends with the test binary, even if the test binary
// is killed.
package harness
