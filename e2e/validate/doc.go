// Package validate checks what the clients of a watch received against the guarantees of the
// service for every stream, each of which is a Guarantee.
//
// A Recording is all that one client received, in one call or in several that resume with a token.
// Evidence is what else is known about that time: the Writes that were made, as the API server
// acknowledged them, the Outages of the service's link to the API server, and the Rights of the
// caller. Violations replays a recording and returns each violation of a guarantee, with the
// recording, the call and the event. End-to-end tests, fault tests and the soak test share this
// package.
//
// A Model is the state of a client. A rule checks the next event against the model; a check also
// uses the response, the call and the evidence. The checks are in the files named after what they
// check: snapshot.go, held.go, order.go, content.go, unique.go, complete.go, resumable.go,
// bookmarked.go, fresh.go, bounded.go, authorised.go, view.go. filter.go and view.go compute what a
// filter selects and what fields show, from what was written and without the service's code.
//
// A PageRecording and a CountsRecording are the same for a client of pages of a sorted selection, whose
// state is a Page, and for a client of counts, whose state is Counts: page.go, pagejudge.go,
// pagecluster.go, counts.go. pageorder.go computes the order from what was written.
//
// The design follows etcd's tests/robustness/validate.
package validate
