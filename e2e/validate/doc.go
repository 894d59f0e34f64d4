// Package validate checks what a watch stream has said against what every
// stream promises (the guarantees "ordered", "unique" and "complete" of the
// service), whatever the test that recorded it was about.
//
// A Model applies events one after another, as a caller would. A rule looks at
// the model and at the event that comes next, and says what is wrong with it.
// The rules stand in the files named after what they guard: snapshot.go,
// held.go, order.go, content.go.
//
// The model is etcd's tests/robustness/validate.
package validate
