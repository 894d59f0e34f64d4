package record

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// shownEvents is how many of the last events go with a failure.
const shownEvents = 20

// Until returns what the stream has said once the condition holds for it. It
// fails the test when the stream or ctx ends first. The condition is asked again
// with each message; it must neither block nor keep the view.
func (s *Stream) Until(ctx context.Context, what string, condition func(*View) bool) View {
	s.t.Helper()
	for {
		said, holds, more := s.ask(condition)
		if holds {
			return said
		}
		if said.Ended {
			s.t.Fatalf("the watch ended before %s: %v\n%s", what, said.Err, said.tail())
		}
		select {
		case <-more:
		case <-ctx.Done():
			s.t.Fatalf("still waiting until %s: %v\n%s", what, context.Cause(ctx), said.tail())
		}
	}
}

func (s *Stream) ask(condition func(*View) bool) (said View, holds bool, more <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said, condition(&s.said), s.more
}

// Synced waits until the first snapshot is complete.
func (s *Stream) Synced(ctx context.Context) View {
	s.t.Helper()
	return s.Until(ctx, "the snapshot is complete", func(said *View) bool { return said.Model.Synced })
}

// Reaches waits until everything up to a version of the cluster has been
// delivered: by an event at that version or a later one, be it a BOOKMARK.
func (s *Stream) Reaches(ctx context.Context, version string) View {
	s.t.Helper()
	return s.Until(ctx, "version "+version+" is reached", func(said *View) bool {
		return reaches(&said.Model, version)
	})
}

func reaches(model *validate.Model, version string) bool {
	order, err := resourceversion.CompareResourceVersion(model.Version, version)
	return model.Synced && err == nil && order >= 0
}

// End waits until the stream ends by itself, and returns how.
func (s *Stream) End(ctx context.Context) error {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-ctx.Done():
		s.t.Fatalf("the watch is still open: %v\n%s", context.Cause(ctx), new(s.Now()).tail())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endSeen = true
	return s.said.Err
}

// tail shows the last events, for people.
func (v *View) tail() string {
	first := max(0, len(v.Events)-shownEvents)
	return fmt.Sprintf("%d events, the last of them:\n  %s", len(v.Events), strings.Join(Lines(v.Events[first:]), "\n  "))
}
