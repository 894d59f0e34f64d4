// Package samples has objects of every kind of client-go that has a protobuf form, for
// tests: made at random, and k8s.io/api's own.
package samples
