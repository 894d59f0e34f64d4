package server

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// TestAccessLease_IsRenewedWhileCallsTakeAllSlots has as many calls wait for reviews as can run at
// one time. The lease of an open stream is renewed nevertheless.
func TestAccessLease_IsRenewedWhileCallsTakeAllSlots(t *testing.T) {
	permissions := &servertest.PermissionAPI{Release: make(chan struct{})}
	var calls sync.WaitGroup
	s := newServiceOf(t, servertest.PodsAPI(), Config{Edge: edge.Config{Authenticator: byName}, Authorizer: permissions.Authorizer(t), Recheck: 50 * time.Millisecond})
	clients := namedClientOf(s)
	stream, err := clients.watchPods(t, "carol")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for caller := range 64 {
		calls.Go(func() {
			if err := clients.getPod(t, fmt.Sprint("mallory-", caller)); err != nil {
				t.Errorf("a call returned %v", err)
			}
		})
	}
	defer calls.Wait()
	defer close(permissions.Release)
	servertest.Until(t, "all turns are taken", func() bool { return permissions.Open.Load() == 64 })
	before := permissions.Answered.Load()
	servertest.Until(t, "the stream is confirmed", func() bool { return permissions.Answered.Load() >= before+4 })
}
