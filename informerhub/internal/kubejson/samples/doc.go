// Package samples has objects of every kind of client-go that has a protobuf form, for tests:
// random ones, and the golden files of k8s.io/api.
package samples
