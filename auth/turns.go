package auth

import "context"

// turn is what a look-up waits for before the cluster is asked.
type turn interface {
	// wait answers why there is no turn: errNoTurn, or that the context has ended.
	wait(context.Context) error
	// end gives the turn back, if wait has given one.
	end()
}

// slots are turns for as many look-ups at one time as the channel holds.
type slots chan struct{}

func (s slots) wait(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s slots) end() { <-s }
