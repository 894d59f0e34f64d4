package informer_test

import (
	"context"
	"errors"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// fewBytes is the number of bytes that a restarted informer may exchange: more than for the changes,
// and less than for the large objects, which have not changed.
const fewBytes = 4 * largeObject

var errEverything = errors.New("the restarted informer has received more than the changes")

func TestInformers_ContinueAfterARestart(t *testing.T) {
	t.Parallel()
	s := newStage(t, kit.Cluster(t))
	each(stays, s.createLarge)
	s.createAll(touched, gone, again)
	s.follow(implementations, settings{Dump: t.TempDir()})
	for _, f := range s.followers {
		f.stop()
	}
	s.changeAll()
	want := s.objects()
	for _, f := range s.followers {
		ctx, cancel := context.WithCancelCause(s.Ctx)
		exceeded := f.link.inner.SetAfter(fewBytes, harness.Dropped)
		go func() {
			select {
			case <-exceeded:
				cancel(errEverything)
			case <-ctx.Done():
			}
		}()
		f.start(t)
		s.verdict(f, restarts, f.await(ctx, want, "quick", "slow"))
		cancel(nil)
		f.link.inner.Set(harness.None)
	}
	s.settle()
	s.wantConsistentCalls()
}
