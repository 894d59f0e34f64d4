package record

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// shownEvents is the number of last events that a failure message shows.
const shownEvents = 20

// Until returns what the stream has delivered once the condition holds for it. It fails the test if
// the stream or ctx ends first. The condition is checked after each message; it must neither block
// nor retain the view. description completes the sentence "still waiting until …" of a failure.
func (s *Stream) Until(ctx context.Context, description string, condition func(*View) bool) View {
	s.t.Helper()
	for {
		view, holds, more := s.ask(condition)
		if holds {
			return view
		}
		if view.Ended {
			s.t.Fatalf("the watch ended before %s: %v\n%s", description, view.Err, view.tail())
		}
		select {
		case <-more:
		case <-ctx.Done():
			s.t.Fatalf("still waiting until %s: %v\n%s", description, context.Cause(ctx), view.tail())
		}
	}
}

func (s *Stream) ask(condition func(*View) bool) (view View, holds bool, more <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view, condition(&s.view), s.more
}

// Synced blocks until the first snapshot is complete.
func (s *Stream) Synced(ctx context.Context) View {
	s.t.Helper()
	return s.Until(ctx, "the snapshot is complete", func(view *View) bool { return view.Model.Synced })
}

// Reaches blocks until everything up to a version of the cluster has been delivered: by an event at
// that version or a later one, which may be a BOOKMARK.
func (s *Stream) Reaches(ctx context.Context, version string) View {
	s.t.Helper()
	return s.Until(ctx, "version "+version+" is reached", func(view *View) bool {
		return reaches(&view.Model, version)
	})
}

func reaches(model *validate.Model, version string) bool {
	order, err := resourceversion.CompareResourceVersion(model.Version, version)
	return model.Synced && err == nil && order >= 0
}

// End blocks until the stream ends by itself, and returns its error.
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
	return s.view.Err
}

// tail formats the last events for a failure message.
func (v *View) tail() string {
	first := max(0, len(v.Events)-shownEvents)
	return fmt.Sprintf("%d events, the last:\n  %s", len(v.Events), strings.Join(Lines(v.Events[first:]), "\n  "))
}
