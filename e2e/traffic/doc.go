// Package traffic writes to a cluster at random, and notes each state that an object
// has come to have, so that a recorded stream can be held against it.
//
// The notes are right whatever happens to the control plane meanwhile. Each object
// has one writer, and each write says which state it is a change of. When an answer
// is lost, the writer asks what there is now, and makes a write that would fail if the
// lost one came through after all, until one succeeds.
//
// Objects that expire are the exception: nothing is known of those whose creation was not
// answered.
package traffic
