package validate

// Guarantee is a guarantee of the service for every stream.
type Guarantee string

// The guarantees, in the order of docs/design.md.
const (
	// Ordered: versions never decrease.
	Ordered Guarantee = "Ordered"
	// Unique: no change is delivered twice between two RESETs.
	Unique Guarantee = "Unique"
	// Complete: a client has exactly the objects that the cluster had at the stream's version.
	Complete Guarantee = "Complete"
	// Resumable: a stream resumes from a token without loss and without an error to handle.
	Resumable Guarantee = "Resumable"
	// Bookmarked: a stream is never silent for long, and nothing at or below a BOOKMARK follows it.
	Bookmarked Guarantee = "Bookmarked"
	// Fresh or honest: a stream reports when its upstream is unreachable, and when it is reachable
	// again.
	Fresh Guarantee = "Fresh or honest"
	// Bounded: memory does not grow with the lag of a client.
	Bounded Guarantee = "Bounded"
	// Authorised: no object is sent without permission to read it, and a lost permission leads to
	// DELETED.
	Authorised Guarantee = "Authorized"
)
