package streams

import "context"

// part is a watch, or live counts, that one stream sends. A stream has one part, or in a WatchMany
// several. A part is owned by the goroutine that runs it.
type part interface {
	// start starts to follow what the part selects. While it waits for a snapshot, it sends responses
	// that it waits. If it succeeds, follow must be called.
	start(ctx context.Context) error
	// follow sends responses until the client disconnects or the part ends. Afterwards the part can
	// be started again.
	follow(ctx context.Context) error
	// resourceName returns the name of the resource in the request.
	resourceName() string
}

// run starts a part, and follows it until the client disconnects or the part ends.
func (w *Watches) run(ctx context.Context, p part) error {
	if err := p.start(ctx); err != nil {
		return err
	}
	return w.serve(ctx, p)
}

// serve follows a part that has started, until the client disconnects or the part ends.
func (w *Watches) serve(ctx context.Context, p part) error {
	for {
		err := p.follow(ctx)
		if !w.servesAgain(ctx, err, p.resourceName()) {
			return err
		}
		if err := p.start(ctx); err != nil {
			return err
		}
	}
}

// rejectedPart is a part whose request is invalid.
type rejectedPart struct {
	resource string
	err      error
}

func (p rejectedPart) start(context.Context) error  { return p.err }
func (p rejectedPart) follow(context.Context) error { return p.err }
func (p rejectedPart) resourceName() string         { return p.resource }
