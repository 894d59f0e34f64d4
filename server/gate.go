package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"connectrpc.com/connect"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// admitPatience is how long a call waits for others of its caller to end.
const admitPatience = 5 * time.Second

// gate admits calls, unary and streaming alike, before anything of their messages is read: the
// caller must be known and within its limits. It puts the caller into the context. What a call
// holds is released when its handler has returned.
type gate struct {
	*entrance
	authenticator auth.Authenticator
	metrics       *Metrics
	callers       *callers
	calls         *fairqueue.Queue // unary calls at a time, by caller; nil without a limit
	requests      *fairqueue.Queue // bytes of requests that are received or decoded, by caller
	processors    *fairqueue.Queue
}

// admit is a connect.RequestGateFunc.
func (g *gate) admit(ctx context.Context, spec connect.Spec, _ connect.Peer, header http.Header) (context.Context, error) {
	c := callFrom(ctx)
	ctx, err := g.enter(ctx, c, spec, header)
	if err == nil {
		return ctx, nil
	}
	err = connectError(err)
	g.metrics.refused(spec, c.began, err)
	g.refuse(c)
	return nil, err
}

func (g *gate) enter(ctx context.Context, c *call, spec connect.Spec, header http.Header) (context.Context, error) {
	calling, err := identify(ctx, g.authenticator, header)
	if err != nil {
		return nil, err
	}
	if c.request.Method == http.MethodGet && header.Get("Authorization") == "" {
		return nil, errGetWithoutToken
	}
	name := callerOf(calling.identity)
	if isStream(spec) {
		err = g.openStream(c, name, credentialOf(calling.identity))
	} else {
		err = g.beginCall(ctx, c, name)
	}
	if err != nil {
		return nil, err
	}
	g.accept(c, spec)
	if err := g.reserve(ctx, c, spec, name); err != nil {
		return nil, err
	}
	return fairqueue.With(context.WithValue(ctx, callerKey{}, calling), g.processors, name), nil
}

func (g *gate) openStream(c *call, name, credential string) error {
	if err := g.callers.open(name); err != nil {
		return err
	}
	c.atEnd(func() { g.callers.close(name) })
	release, err := g.callers.holdStreams(name, credential, 1)
	if err != nil {
		return err
	}
	c.atEnd(release)
	return nil
}

func (g *gate) beginCall(ctx context.Context, c *call, name string) error {
	if err := g.callers.call(name); err != nil || g.calls == nil {
		return err
	}
	release, err := g.acquire(ctx, g.calls, name, 1, "you have more calls under way than one caller may have at a time")
	if err != nil {
		return err
	}
	c.atEnd(release)
	return nil
}

// acquire waits for admitPatience at most. Its error is a *limitError if that is not enough, or if
// too many calls wait already.
func (g *gate) acquire(ctx context.Context, from *fairqueue.Queue, name string, weight int64, over string) (release func(), err error) {
	release, err = from.AcquireWithin(ctx, name, weight, admitPatience)
	if errors.Is(err, fairqueue.ErrFull) {
		return nil, &limitError{over, g.callers.nextTurn(name)}
	}
	return release, err
}

// errGetWithoutToken refuses reads by GET that a page of any site can have a browser send: with the
// browser's client certificate, or without authentication. A browser never sends Authorization
// on its own.
var errGetWithoutToken = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status:  metav1.StatusFailure,
	Reason:  metav1.StatusReasonForbidden,
	Code:    http.StatusForbidden,
	Message: "a call by GET needs a bearer token: send one in the Authorization header, or call by POST",
}}
