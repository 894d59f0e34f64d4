package informer_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// link is the network between an informer and its server.
type link struct {
	// outer has the address that the informer connects to, and inner forwards its first connections.
	outer, inner *harness.Proxy
	target       string
	speed        harness.Fault // None or Slow
}

func newLink(t *testing.T, target string) *link {
	t.Helper()
	inner := harness.StartProxy(t, target, harness.None)
	return &link{outer: harness.StartProxy(t, inner.Address(), harness.None), inner: inner, target: target}
}

// cut closes all connections. New ones are accepted and closed, as by a load balancer without a backend.
func (l *link) cut() { l.inner.Set(harness.Refused) }

// mend ends a cut. The link is slow if it was set to be slow.
func (l *link) mend() { l.inner.Set(l.speed) }

// slowRate is the number of bytes per second that a slow link forwards.
const slowRate = 200 << 10

// slowDown makes the link slow from the next mend on.
func (l *link) slowDown() {
	l.inner.SetSlowRate(slowRate)
	l.speed = harness.Slow
}

// attempts returns the number of connections that the informer has opened. The link must not have
// been frozen.
func (l *link) attempts() int { return l.outer.Forwarded()[0] }

// freeze stops to forward on the open connections, without closing them. New connections work.
func (l *link) freeze() {
	l.inner.Set(harness.Frozen)
	l.outer.AddTarget(l.target)
	l.outer.RemoveTarget(l.inner.Address())
}
