package access

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

const (
	// defaultRecheck is the default interval at which the permissions of a stream are re-checked.
	defaultRecheck = 10 * time.Second
	// confirmTimeout is the time that a stream waits for a review before it reports to its client
	// that it waits.
	confirmTimeout = 3 * time.Second
	// confirmPause is the time until the second attempt. It doubles with each further one, up to
	// maxConfirmPause, with which the stream still sends a message at least every ten seconds.
	confirmPause    = time.Second
	maxConfirmPause = 5 * time.Second
	// unconfirmedUnread is how long a message may stay unread after the lease that it was sent
	// under should have been renewed, while the cluster cannot be asked.
	unconfirmedUnread = 10 * time.Second
)

// Lease is the access lease of one stream. It expires after a time, and when permissions have
// changed. Then it must be renewed before more events are sent.
//
//	Grant ──▶ valid ──▶ due ──▶ lost: forbidden, or the credential has expired
//	            ▲        │
//	            └────────┘ renewed
//
// A lease is due at Due, and when Changed is closed. A lease that is due is not lost: nothing is sent, and the stream continues, until a renewal decides. While the cluster
// cannot be asked, the lease stays due.
//
// The lease is owned by the goroutine that follows the stream. There is one exception: while that goroutine is blocked in a
// write, streamlife.Unread can call mayContinue in the goroutine of its timer, which may renew the lease. The write does not
// return before that call has ended. So no field needs a lock, and every field can differ after a message was sent.
type Lease struct {
	// Set once, except for the identity of the caller, which each renewal replaces.
	rights  Permissions
	Caller  call.Caller
	Request Request
	recheck time.Duration

	// Set by each renewal that succeeds, together. A renewal that fails changes none of them.
	Scope     auth.Namespaces // what the caller can read of the request
	Related   []RelatedRead   // grows by ScopeOf, and is never reordered: CoversRelated compares by index
	RenewedAt time.Time       // when the renewal began, so that permissions of that time or later were checked
	Changed   <-chan struct{} // closed when permissions may have changed
	Due       time.Time       // when the lease must be renewed; zero if only when permissions change
	attempts  int             // to renew the lease, in vain, since it was renewed; see awaitRetry
}

// RelatedRead is a read of related objects that a stream makes too, as far as its scope goes.
type RelatedRead struct {
	request Request
	scope   RelatedScope
}

// ScopeOf returns the scope of a read of related objects, which the lease includes from then on: each renewal checks it
// again. The same read is included once, so resolving the joins of a stream again does not make the lease grow.
func (l *Lease) ScopeOf(ctx context.Context, request Request) (RelatedScope, error) {
	for _, read := range l.Related {
		if read.request.isSame(request) {
			return read.scope, nil
		}
	}
	scope, err := l.rights.ScopeOfRelated(ctx, l.Caller.Identity, request)
	if err == nil {
		l.Related = append(l.Related, RelatedRead{request, scope})
	}
	return scope, err
}

// Leases grants access leases to callers.
type Leases struct {
	rights  Permissions
	recheck time.Duration
}

// NewLeases returns the leases of reads that permissions allow. The caller and the permissions of an open
// stream are re-checked at the interval recheck; 0 is the default, 10 s.
func NewLeases(permissions Permissions, recheck time.Duration) Leases {
	return Leases{permissions, cmp.Or(recheck, defaultRecheck)}
}

// Grant returns a lease if the caller has the permission for a read.
func (s Leases) Grant(ctx context.Context, access Request) (*Lease, error) {
	l := s.lease(ctx, access)
	return l, l.review(ctx, l.Caller.Identity)
}

// GrantUnreviewed returns a lease for a read whose permission the API server itself is about to
// check. The first renewal checks the permission here. Nothing must be sent before the API server has allowed
// the read.
func (s Leases) GrantUnreviewed(ctx context.Context, access Request) *Lease {
	access.NoteForwarded(ctx)
	l := s.lease(ctx, access)
	l.Changed = l.rights.changed(l.Caller.Identity) // before the API server decides, so that no change is missed
	l.extend(l.Caller.Identity, auth.Namespaces{All: true}, time.Now())
	return l
}

// lease returns a lease that has not been granted yet.
func (s Leases) lease(ctx context.Context, access Request) *Lease {
	return &Lease{rights: s.rights, Caller: call.CallerFrom(ctx), Request: access, recheck: s.recheck}
}

// isDue reports whether the lease must be renewed.
func (l *Lease) isDue() bool {
	select {
	case <-l.Changed:
		return true
	default:
		return !l.Due.IsZero() && !time.Now().Before(l.Due)
	}
}

// Period returns a context that ends when the lease is due, and with ctx. It does not end when
// permissions change: the caller also waits for Changed. The caller must call cancel. After a renewal
// the period is over, and the caller must ask for the next one.
func (l *Lease) Period(ctx context.Context) (period context.Context, cancel context.CancelFunc) {
	if l.Due.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, l.Due)
}

// EndOfPeriod returns why a stream ends whose wait has ended with an error: nil if it was the end of a period, or a
// change of permissions, and ctx is not done.
//
// The end of the stream comes first, because both can happen at the same time: a stream whose client has disconnected does
// not ask for another review.
func (l *Lease) EndOfPeriod(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case l.isDue():
		return nil
	}
	return err
}

// RenewUntilValid renews the lease if that is due. While the cluster cannot be asked, it calls withhold and waits before
// each further attempt. It returns nil only with a valid lease. Any other answer of the cluster ends the stream.
//
// It loops because a renewal takes time: permissions may have changed again meanwhile.
func (l *Lease) RenewUntilValid(ctx context.Context, withhold func() error) error {
	for l.isDue() {
		err := l.renewIn(ctx, ctx)
		if errors.Is(err, errUnconfirmed) {
			if err = withhold(); err == nil {
				err = l.awaitRetry(ctx)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// renewIn renews the lease: it authenticates the caller and checks its permissions, as at the start of the stream. It gives up
// when reviewCtx is done, and returns errUnconfirmed if the cluster cannot be asked. ctx is the context of the stream.
func (l *Lease) renewIn(ctx, reviewCtx context.Context) error {
	reviewCtx, cancel := context.WithTimeout(reviewCtx, confirmTimeout)
	defer cancel()
	// The token may have been revoked, and the groups of the caller may be other ones now.
	identity, err := l.Caller.Identify(auth.WithRecheck(reviewCtx))
	if err == nil {
		err = l.review(auth.WithRecheck(reviewCtx), identity)
	}
	// The order matters. When the stream has ended, any error follows from that. An expired credential ends the stream even
	// if the cluster cannot be asked: no further answer would make it valid.
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case l.Caller.HasExpired():
		return auth.ErrExpired
	case apierrors.IsServiceUnavailable(err), apierrors.IsTooManyRequests(err), errors.Is(err, context.DeadlineExceeded):
		return errUnconfirmed
	}
	return err
}

// ErrDue reports that a message was not sent, because the lease must be renewed first. It is never
// returned to callers.
var ErrDue = errors.New("the access lease must be renewed")

// Keep renews the lease until it is lost, and returns why, or the cause of ctx. It is for a stream that the API server sends: the caller
// ends the stream then. While the cluster cannot be asked, the stream continues.
func (l *Lease) Keep(ctx context.Context) error {
	for {
		if err := l.RenewUntilValid(ctx, func() error { return nil }); err != nil {
			return err
		}
		period, cancel := l.Period(ctx)
		select {
		case <-l.Changed:
		case <-period.Done():
		}
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// Send sends a message under the lease. It sends nothing if the lease must be renewed first. If the
// lease is lost while the client does not read, it sends no more than the client has read. A nil
// lease is for a message without content. The guard has all other conditions of the message.
//
// Send does not renew the lease itself: the message was made under the lease as it was, and only the caller knows whether
// it may be sent under another scope. See SendWhenValid.
func (l *Lease) Send(ctx context.Context, guarded streamlife.Guard, send func() error) error {
	if l != nil {
		if l.isDue() {
			return ErrDue
		}
		// From here on the message is in the buffers of the connection, and the client may read it much later.
		guarded.Holds = func(reviewCtx context.Context) error { return l.mayContinue(ctx, reviewCtx) }
	}
	return streamlife.UnreadOf(ctx).During(ctx, guarded, send)
}

// SendWhenValid calls send, which sends a message by Send, under a valid lease: the lease is renewed before if that is due, and send
// is called again if it returns ErrDue. See RenewUntilValid for withhold. send must look at the scope each time it is called.
func (l *Lease) SendWhenValid(ctx context.Context, withhold, send func() error) error {
	for {
		if err := l.RenewUntilValid(ctx, withhold); err != nil {
			return err
		}
		if err := send(); !errors.Is(err, ErrDue) {
			return err
		}
	}
}

// mayContinue returns the reason why the rest of a message must not be sent, or nil. It runs while
// the stream's handler is blocked, in another goroutine, and gives up when reviewCtx is done.
//
// The rest of the message may be sent if the caller can read at least what it could read before. Otherwise the stream ends,
// because a part of a message cannot be taken back: the client resumes, and receives what it can read now. While the cluster
// cannot be asked, the rest may be sent until unconfirmedUnread after the lease should have been renewed.
func (l *Lease) mayContinue(ctx, reviewCtx context.Context) error {
	if !l.isDue() {
		return nil
	}
	before, related := l.Scope, l.Related
	// The renewal ends with the stream, and when the client continues to read.
	renewCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(reviewCtx, cancel)()
	switch err := l.renewIn(ctx, renewCtx); {
	case errors.Is(err, errUnconfirmed) && time.Since(l.RenewedAt) < l.recheck+unconfirmedUnread:
		return nil
	case errors.Is(err, errUnconfirmed):
		return apierror.Failure(metav1.StatusReasonServiceUnavailable,
			"the stream has ended, because a message was left unread while your permissions could not be checked: resume it")
	case err == nil && !(Covers(l.Scope, before) && l.CoversRelated(related)):
		return apierror.Failure(metav1.StatusReasonServiceUnavailable,
			"the stream has ended, because your permissions changed while a message was left unread: resume it")
	default:
		return err
	}
}

// errUnconfirmed reports that a lease could not be renewed. It is never returned to callers.
var errUnconfirmed = errors.New("the caller's permissions could not be checked")

// review checks what an identity can read, and extends the lease for that until its next renewal. After an error the lease
// is unchanged.
func (l *Lease) review(ctx context.Context, identity auth.Identity) error {
	// Both are read before the permissions: a change during the review makes the lease due at once.
	changed, now := l.rights.changed(identity), time.Now()
	scope, err := l.rights.Scope(ctx, identity, l.Request)
	if err != nil {
		return err
	}
	// A copy, because the joins and mayContinue compare the reads before with the reads after.
	related := slices.Clone(l.Related)
	for i, read := range related {
		if related[i].scope, err = l.rights.ScopeOfRelated(ctx, identity, read.request); err != nil {
			return err
		}
	}
	l.Changed, l.Related = changed, related
	l.extend(identity, scope, now)
	return nil
}

// CoversRelated reports whether the lease still covers what it covered of reads of related objects. before is Related of this lease at an earlier time, or its begin.
func (l *Lease) CoversRelated(before []RelatedRead) bool {
	for i, read := range before {
		if !Covers(l.Related[i].scope.Cached, read.scope.Cached) {
			return false
		}
	}
	return true
}

// extend extends the lease for a scope that an identity has the permission for. A lease of the user
// of the kubeconfig is never due: see Permissions.Scope.
func (l *Lease) extend(identity auth.Identity, scope auth.Namespaces, now time.Time) {
	l.Caller.Identity, l.Scope, l.RenewedAt, l.attempts = identity, scope, now, 0
	if !identity.IsKubeconfigUser() {
		l.Due = l.renewalTime(now, identity)
	}
}

// awaitRetry waits until the next attempt to renew. The time is shortened at random, so that the streams of a replica do not
// all ask at once when the cluster can be asked again.
func (l *Lease) awaitRetry(ctx context.Context) error {
	pause := min(confirmPause<<min(l.attempts, 10), maxConfirmPause)
	l.attempts++
	select {
	case <-time.After(pause - rand.N(pause/5)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// renewalSeed makes the times at which the callers' leases are renewed differ from replica to replica.
var renewalSeed = maphash.MakeSeed()

// renewalTime returns the time at which the lease must be renewed: when the credential expires, or at
// the next of the caller's times, which are a little closer than the interval. All streams of a caller
// are renewed within a twentieth of the interval, so that they share the reviews. Decisions are cached
// for ten seconds: with the default interval, the streams of a caller need one review of a permission
// in every second period.
func (l *Lease) renewalTime(now time.Time, identity auth.Identity) time.Time {
	period := l.recheck - l.recheck/10
	phase := time.Duration(maphash.String(renewalSeed, call.CallerKey(identity)) % uint64(period))
	next := now.Add(-phase).Truncate(period).Add(phase + period)
	until := next.Add(rand.N(l.recheck/20 + 1))
	if expires := identity.Expires; !expires.IsZero() && expires.Before(until) {
		return expires
	}
	return until
}
