// Package traffic writes to a cluster at random, and records every state of its objects, so that a
// recorded stream can be validated against them.
//
// The record is correct whatever happens to the control plane meanwhile. Each object has one
// writer, and each write has the resource version of the state that it changes as a precondition.
// When a response is lost, the writer reads the current state, and repeats a write that would fail
// if the lost one were applied later, until one succeeds.
//
// Objects that expire are the exception: those whose creation was not acknowledged are not judged.
package traffic
