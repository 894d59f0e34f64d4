// Package harness starts what the end-to-end tests need, and ends it again: a
// control plane, the service, and a proxy between the two that can fail.
//
// It knows the service as any operator does, by its flags, its log and its
// address, and never by its code. Every process that it starts ends with the
// test binary, however that ends.
package harness
