package validate

// Guarantee is one of the promises that the service makes about every stream.
type Guarantee string

// The guarantees, in the order in which the service's documentation gives them.
const (
	// Ordered: versions never go back.
	Ordered Guarantee = "Ordered"
	// Unique: no change is told twice between two RESETs.
	Unique Guarantee = "Unique"
	// Complete: a caller holds exactly what the cluster held at the stream's version.
	Complete Guarantee = "Complete"
	// Resumable: a token leads on without loss, and without an error to handle.
	Resumable Guarantee = "Resumable"
	// Bookmarked: a stream is never silent for long.
	Bookmarked Guarantee = "Bookmarked"
	// Fresh or honest: a stream says when its upstream is lost, and when it is back.
	Fresh Guarantee = "Fresh or honest"
	// Bounded: memory does not grow with the lag of a caller.
	Bounded Guarantee = "Bounded"
	// Authorised: no object without the right to it, and a lost right ends in DELETED.
	Authorised Guarantee = "Authorised"
)
