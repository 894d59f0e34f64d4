package streams

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/reads"
)

// oneMessageAtATime has no client, calls between after the first message, and returns the events
// that would have been sent after that, up to SYNCED.
func oneMessageAtATime(t *testing.T, rights *servertest.FakeRights, between func()) (events []*kubeconnectv1.Event, err error) {
	t.Helper()
	s, ctx := watchesOn(t, servertest.LargePods(5), rights)
	params := WatchParams{Selection: reads.Selection{Resource: "pods"}, encoding: kubeconnectv1.Encoding_ENCODING_JSON}
	watch, err := s.start(ctx, params, s.newSender(ctx, params, nil, func(context.Context, *access.Lease, streamlife.Guard, *kubeconnectv1.WatchResponse) error { return nil }))
	if err != nil {
		t.Fatal(err)
	}
	synced, messages := errors.New("synced"), 0
	sender := s.newSender(ctx, params, nil, func(ctx context.Context, under *access.Lease, guarded streamlife.Guard, response *kubeconnectv1.WatchResponse) error {
		return under.Send(ctx, guarded, func() error {
			if messages++; messages == 2 {
				between()
				return nil
			}
			if messages > 2 {
				events = append(events, response.GetEvents()...)
			}
			if len(events) > 0 && events[len(events)-1].GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED {
				return synced
			}
			return nil
		})
	})
	sender.messages = true
	defer watch.close()
	if err = sender.attach(watch).follow(ctx); errors.Is(err, synced) {
		err = nil
	}
	return events, err
}

func TestRevocation_NothingMoreOfABatchIsSent(t *testing.T) {
	rights := servertest.NewFakeRights(auth.Namespaces{All: true})
	events, err := oneMessageAtATime(t, rights, func() { rights.Change(func() { rights.May = servertest.Some() }) })
	if !apierrors.IsForbidden(err) || len(events) > 0 {
		t.Errorf("%d more events are sent, then %v", len(events), err)
	}
}

func TestRevocation_OfSomeNamespacesBeginsASnapshotOfTheOthers(t *testing.T) {
	rights := servertest.NewFakeRights(servertest.Some("default", "other"))
	events, err := oneMessageAtATime(t, rights, func() { rights.Change(func() { rights.May = servertest.Some("other") }) })
	if err != nil {
		t.Fatal(err)
	}
	if events[0].GetType() != kubeconnectv1.EventType_EVENT_TYPE_RESET {
		t.Errorf("continues with %v", events[0].GetType())
	}
	if names := namesOf(events); len(names) != 5 || slices.ContainsFunc(names, func(name string) bool { return !strings.HasPrefix(name, "other-") }) {
		t.Errorf("sends %v", names)
	}
}

func TestMorePermissions_WithinABatchApplyAfterIt(t *testing.T) {
	rights := servertest.NewFakeRights(servertest.Some("default"))
	events, err := oneMessageAtATime(t, rights, func() { rights.Change(func() { rights.May = servertest.Some("default", "other") }) })
	if err != nil {
		t.Fatal(err)
	}
	names := namesOf(events)
	slices.Sort(names)
	for _, name := range []string{"default-4", "other-0", "other-4"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not sent among %v", name, names)
		}
	}
}

func namesOf(events []*kubeconnectv1.Event) (names []string) {
	for _, event := range events {
		if name := event.GetObject().GetName(); name != "" {
			names = append(names, name)
		}
	}
	return names
}
