// Package kit has what the end-to-end tests share: control planes, services and clients of them,
// callers with permissions, objects to read and change, and checks that fail a test.
//
// A function named WantX fails the test unless X is true now, UntilX blocks until X is true, and
// NewX creates what is removed when the test ends. Every wait is bounded by the context that
// Deadline returns.
package kit
