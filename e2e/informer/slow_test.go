package informer_test

import (
	"fmt"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// busyChanges is the number of changes of an object while a handler blocks.
const busyChanges = 5

func TestInformers_AreNotDelayedByAHandlerThatBlocks(t *testing.T) {
	t.Parallel()
	s := newStage(t, kit.Cluster(t))
	s.createAll(gone, again)
	s.Create("first", nil)
	s.Create("busy", nil)
	s.follow(implementations, settings{Release: releaseFile(t)})

	s.Touch("first", "blocks the slow handler")
	s.recreate(again)
	each(gone, s.Delete)
	for i := range busyChanges {
		s.Touch("busy", fmt.Sprint(i))
		for _, f := range s.followers {
			if shortcoming(slowDelaysNothing, f.name) == "" {
				s.verdict(f, slowDelaysNothing, f.await(s.Ctx, s.objects(), "quick"))
			}
		}
	}
	s.converged(slowDelaysNothing, "quick")
	s.releaseHandlers()
	s.settle()
	for _, f := range s.followers {
		var err error
		if calls := kindsByName(f.received("slow", 0))["busy"]; len(calls) != 2 {
			err = fmt.Errorf("the slow handlers received %q for an object that was changed %d times meanwhile", calls, busyChanges)
		}
		s.verdict(f, latestStates, err)
	}
	s.wantConsistentCalls()
}
