package reads

import (
	"errors"
	"testing"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

func TestLiveLists_WaitForSlotsIsBounded(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		s := &Upstream{slots: newUpstreamLists(gate.Limits{Rate: 1})}
		ctx := servertest.CalledBy(t.Context(), "a")
		for range maxUpstreamLists / upstreamListsDivisor {
			if _, err := s.acquireSlot(ctx); err != nil {
				t.Fatal(err)
			}
		}
		var over *callerrors.LimitError
		if _, err := s.acquireSlot(ctx); !errors.As(err, &over) || over.Seconds() < 1 {
			t.Errorf("one more returned %v", err)
		}
		if _, err := s.acquireSlot(servertest.CalledBy(t.Context(), "b")); err != nil {
			t.Errorf("another caller returned %v", err)
		}
	})
}
