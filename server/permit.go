package server

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
)

const (
	// defaultRecheck is how often a stream's rights are looked at again, if nothing
	// else is said.
	defaultRecheck = 10 * time.Second
	// confirmPatience is how long a stream waits for the cluster's word before it tells
	// its caller that it waits.
	confirmPatience = 3 * time.Second
	// confirmPause is how long it waits then until it asks again.
	confirmPause = time.Second
	// unconfirmedUnread is how long a message may stay unread after the permit that it was sent
	// under should have been confirmed, while the cluster cannot be asked.
	unconfirmedUnread = 10 * time.Second
)

// permit is what one stream may tell. It holds for a time only: then, and when rights
// have changed, it must be confirmed before anything else is told. It is owned by the
// stream's handler.
type permit struct {
	rights  rights        // set once, with those below
	caller  identified    //
	wanted  read          //
	recheck time.Duration //

	scope     auth.Namespaces
	confirmed time.Time
	changed   <-chan struct{} // closed when rights may have changed
	// period ends when the permit must be confirmed, and with the stream.
	period    context.Context
	endPeriod context.CancelFunc
}

// permit asks whether the caller may read something. The caller must call endPeriod when done.
func (s *resources) permit(ctx context.Context, wanted read) (*permit, error) {
	p := s.newPermit(ctx, wanted)
	return p, p.grant(ctx, ctx, p.caller.identity)
}

// permitGranted is the permit to read what the API server itself is about to hold against
// the caller's rights. The caller must call endPeriod when done.
func (s *resources) permitGranted(ctx context.Context, wanted read) *permit {
	p := s.newPermit(ctx, wanted)
	p.changed = p.rights.changed(p.caller.identity)
	p.hold(ctx, p.caller.identity, auth.Namespaces{All: true}, time.Now())
	return p
}

func (s *resources) newPermit(ctx context.Context, wanted read) *permit {
	return &permit{rights: s.rights, caller: callerFrom(ctx), wanted: wanted, recheck: s.recheck, endPeriod: func() {}}
}

// isDue reports whether the permit must be confirmed.
func (p *permit) isDue() bool {
	select {
	case <-p.changed:
		return true
	default:
		return p.period.Err() != nil
	}
}

// confirm finds out who is calling and what they may read, as if the stream began now.
// With errUnconfirmed it is not known.
func (p *permit) confirm(ctx context.Context) error { return p.confirmIn(ctx, ctx) }

// confirmIn is confirm that gives up when asking ends.
func (p *permit) confirmIn(ctx, asking context.Context) error {
	asking, cancel := context.WithTimeout(asking, confirmPatience)
	defer cancel()
	identity, err := p.caller.identify(auth.Rechecking(asking))
	if err == nil {
		err = p.grant(ctx, auth.Rechecking(asking), identity)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case p.caller.hasExpired():
		return auth.ErrExpired
	case apierrors.IsServiceUnavailable(err), apierrors.IsTooManyRequests(err), errors.Is(err, context.DeadlineExceeded):
		return errUnconfirmed
	}
	return err
}

// errDue says that a message was not sent, because the permit must be confirmed first. It is not
// for callers.
var errDue = errors.New("the permit must be confirmed")

// send sends a message under the permit: not at all if it must be confirmed first, and no further
// than the client has read if it is lost while the client does not read. A nil permit is for a
// message without content. The guard is for all else that is asked about the message.
func (p *permit) send(ctx context.Context, guarded guard, send func() error) error {
	if p != nil {
		if p.isDue() {
			return errDue
		}
		guarded.holds = func(asking context.Context) error { return p.stillHolds(ctx, asking) }
	}
	return unreadOf(ctx).during(ctx, guarded, send)
}

// stillHolds returns why a message that is being sent may not be sent any further, if so. It runs
// while the stream's handler is blocked, and gives up when asking ends.
func (p *permit) stillHolds(ctx, asking context.Context) error {
	if !p.isDue() {
		return nil
	}
	before := p.scope
	both, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(asking, cancel)()
	switch err := p.confirmIn(ctx, both); {
	case errors.Is(err, errUnconfirmed) && time.Since(p.confirmed) < p.recheck+unconfirmedUnread:
		return nil
	case errors.Is(err, errUnconfirmed):
		return failure(metav1.StatusReasonServiceUnavailable,
			"the stream has ended, because a message was left unread while the cluster could not be asked what you may read: resume it")
	case err == nil && !covers(p.scope, before):
		return failure(metav1.StatusReasonServiceUnavailable,
			"the stream has ended, because your permissions changed while a message was left unread: resume it")
	default:
		return err
	}
}

// errUnconfirmed is not for callers.
var errUnconfirmed = errors.New("the cluster could not be asked what the caller may read")

// grant asks what an identity may read, and lets the permit hold for that until it must
// be confirmed.
func (p *permit) grant(ctx, asking context.Context, identity auth.Identity) error {
	changed, now := p.rights.changed(identity), time.Now()
	scope, err := p.rights.scope(asking, identity, p.wanted)
	if err != nil {
		return err
	}
	p.changed = changed
	p.hold(ctx, identity, scope, now)
	return nil
}

// hold lets the permit hold for what an identity has been found to have the right to.
func (p *permit) hold(ctx context.Context, identity auth.Identity, scope auth.Namespaces, now time.Time) {
	p.caller.identity, p.scope, p.confirmed = identity, scope, now
	p.endPeriod()
	if identity.IsKubeconfigUser() {
		p.period, p.endPeriod = ctx, func() {}
		return
	}
	p.period, p.endPeriod = context.WithDeadline(ctx, p.until(now, identity))
}

// pause waits until the cluster is to be asked again.
func (p *permit) pause(ctx context.Context) error {
	select {
	case <-time.After(confirmPause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// until is when the permit must be confirmed: a little before the interval is over, so
// that those who came together do not ask together, and when the credential ends.
func (p *permit) until(now time.Time, identity auth.Identity) time.Time {
	until := now.Add(p.recheck - rand.N(p.recheck/10+1))
	if expires := identity.Expires; !expires.IsZero() && expires.Before(until) {
		return expires
	}
	return until
}
