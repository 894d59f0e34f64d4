package streams

import (
	"context"
	"errors"
)

// part is a watch, or live counts, that one stream sends. A stream has one part, or in a WatchMany
// several. A part is owned by the goroutine that runs it.
//
// start and follow are called in turn: see Watches.serve. A part is started again when the cluster
// serves its resource in another version.
type part interface {
	// start starts to follow what the part selects. While it waits for a snapshot, it sends responses
	// that it waits. If it succeeds, follow must be called: only follow releases what start has taken.
	start(ctx context.Context) error
	// follow sends responses until the client disconnects or the part ends. It releases everything that
	// start has taken. Afterwards the part can be started again.
	follow(ctx context.Context) error
	// resourceName returns the name of the resource in the request.
	resourceName() string
}

// rejectedPart is a part whose request is invalid. In a stream of independent parts, the client
// receives the error of this part, and the other parts continue.
type rejectedPart struct {
	resource string
	err      error
}

func (p rejectedPart) start(context.Context) error  { return p.err }
func (p rejectedPart) follow(context.Context) error { return p.err }
func (p rejectedPart) resourceName() string         { return p.resource }

// watchPart is a watch as a part of a stream.
type watchPart struct {
	watches *Watches // set once, like sender
	sender  watchSender

	params WatchParams    // without a resume token after the first start; see follow
	watch  *followedWatch // the watch that start has started; follow closes it
}

// watchSender sends what becomes of a watch: an eventSender or an eventReceiver. It is used for one watch
// at a time, and for the watch that replaces it when the part is started again.
type watchSender interface {
	// whileWaiting calls begin, and reports to the client that the watch waits until begin returns.
	whileWaiting(ctx context.Context, waiting *waitingWatch, begin func() (*followedWatch, error)) (*followedWatch, error)
	// attach makes w the watch whose events are sent, and returns the stream that sends them.
	attach(w *followedWatch) leasedStream
}

// start implements part.
func (p *watchPart) start(ctx context.Context) (err error) {
	p.watch, err = p.watches.start(ctx, p.params, p.sender)
	return err
}

// follow implements part.
func (p *watchPart) follow(ctx context.Context) error {
	defer p.watch.close()
	p.params.resumeToken = "" // newer events have been sent when the watch is started again
	return p.sender.attach(p.watch).follow(ctx)
}

// resourceName implements part.
func (p *watchPart) resourceName() string { return p.params.Resource }

// countsPart is live counts as a part of a stream.
type countsPart struct {
	watches *Watches // set once, like params and sender
	params  watchCountsParams
	sender  *countsSender

	counted *liveCounts // the counts that start has started, or those in the current scope; owned by the sender in follow
}

// start implements part.
func (p *countsPart) start(ctx context.Context) (err error) {
	p.counted, err = p.watches.startCounts(ctx, p.params, p.sender)
	return err
}

// follow implements part. It follows the counts in each scope that the lease has. Counts of one scope say nothing about
// another scope, so each scope has counts of its own, and the client receives all of their groups after a reset.
func (p *countsPart) follow(ctx context.Context) error {
	for {
		err := p.sender.follow(ctx, p.counted)
		if !errors.Is(err, errRescoped) {
			return err
		}
		// The sender has closed the counts. Only their lease, their relation and their version are used again.
		if p.counted, err = p.watches.rescopeCounts(ctx, p.params, p.sender, p.counted); err != nil {
			return err
		}
	}
}

// resourceName implements part.
func (p *countsPart) resourceName() string { return p.params.Resource }
