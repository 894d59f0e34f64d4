// Package validate checks what the callers of a watch were told against what the
// service promises of every stream: a Guarantee each.
//
// A Recording is all that one caller was told, in one call or in several that go on
// with a resume token. Evidence is what else is known of that time: the Writes that
// were made, as the API server answered them, the Outages of its link, and the Rights
// of the caller. Violations reads a recording as the caller did and names what breaks a
// guarantee, with the recording, the call and the event. End-to-end tests, faults and
// the soak share it.
//
// A Model is what the caller holds. A rule looks at the model and at the event that
// comes next; a check also looks at the response, the call and the evidence. They stand
// in the files named after what they guard: snapshot.go, held.go, order.go, content.go,
// unique.go, complete.go, resumable.go, bookmarked.go, fresh.go, bounded.go,
// authorised.go, view.go. What a filter selects and what fields show is computed in
// filter.go and view.go, from what was written and without the service's code.
//
// The model is etcd's tests/robustness/validate.
package validate
