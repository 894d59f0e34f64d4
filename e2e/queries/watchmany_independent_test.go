package queries_test

import (
	"context"
	"maps"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// independentWatch is one of several independent watches, with what its client has. It lasts longer
// than a stream.
type independentWatch struct {
	spec  *kubeconnectv1.WatchSpec
	model validate.Model
}

// holds reports whether the client has exactly these objects.
func (w *independentWatch) holds(want kit.Versions) bool {
	return w.model.Synced && maps.Equal(kit.HeldVersions(w.model), want)
}

// independent is a stream of independent watches, and of the counts of ConfigMaps by namespace.
type independent struct {
	t       *testing.T
	stream  *responses.Stream[kubeconnectv1.WatchManyResponse]
	watches []*independentWatch
	counts  heldCounts
	errors  map[int32]string // reasons
}

func watchIndependently(ctx context.Context, t *testing.T, client kit.ResourceClient, watches ...*independentWatch) *independent {
	t.Helper()
	request := &kubeconnectv1.WatchManyRequest{
		Independent: true,
		Counts:      []*kubeconnectv1.WatchCountsRequest{{Resource: "configmaps", LabelSelector: "counted", GroupBy: []string{"metadata.namespace"}}},
	}
	for _, watch := range watches {
		request.Watches = append(request.Watches, watch.spec)
	}
	stream, err := responses.Of(client.WatchMany(ctx, request))
	if err != nil {
		t.Fatal(err)
	}
	harness.Cleanup(t, func() { _ = stream.Close() })
	return &independent{t: t, stream: stream, watches: watches, errors: map[int32]string{}}
}

// until receives messages until a condition holds.
func (s *independent) until(description string, holds func() bool) {
	s.t.Helper()
	for !holds() {
		if !s.stream.Receive() {
			s.t.Fatalf("the stream ended before %s: %v", description, s.stream.Err())
		}
		s.take(s.stream.Msg())
	}
}

func (s *independent) take(message *kubeconnectv1.WatchManyResponse) {
	index := message.GetWatchIndex()
	if s.errors[index] != "" || message.GetResumeToken() != "" {
		s.t.Errorf("after the error %q it sends %v", s.errors[index], message)
	}
	switch {
	case message.GetError() != nil:
		s.errors[index] = message.GetError().GetReason()
	case message.GetCounts() != nil:
		s.counts.apply(message.GetCounts())
	default:
		watch := s.watches[index]
		watch.spec.OwnResumeToken = message.GetResponse().GetResumeToken()
		for _, event := range message.GetResponse().GetEvents() {
			watch.model.Apply(watch.model.Whole(event))
		}
	}
}

// TestWatchMany_IndependentWatchesContinueAtAnotherReplica revokes the permission for one of the
// watches, and then changes the set of watches at another replica.
func TestWatchMany_IndependentWatchesContinueAtAnotherReplica(t *testing.T) {
	t.Parallel()
	ctx, first, second := kit.Deadline(t), kit.StartForCallers(t), kit.StartForCallers(t)
	one, two := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	writeOne, writeTwo := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), one), kit.ConfigMapsIn(ctx, t, kit.Cluster(t), two)
	kept, lost := writeOne.Create("kept", kit.Labels{"counted": "yes"}), writeTwo.Create("lost", kit.Labels{"counted": "yes"})
	caller := kit.RbacAccount{Account: kit.NewAccount(ctx, t, one, "reader"), Resource: "configmaps"}
	caller.Grant(one)
	caller.Grant(two)
	client, other := caller.Calling(first, harness.GRPC).Resources, caller.Calling(second, harness.Connect).Resources
	for _, replica := range []kit.ResourceClient{client, other} {
		kit.Eventually(ctx, t, "two namespaces are listed", func() error { return kit.ListsNamespaces(ctx, replica, one, two) })
	}
	in := func(namespace string) *independentWatch {
		return &independentWatch{spec: &kubeconnectv1.WatchSpec{Resource: "configmaps", Namespace: namespace, LabelSelector: "counted"}}
	}
	inOne, inTwo, unknown := in(one), in(two), &independentWatch{spec: &kubeconnectv1.WatchSpec{Resource: "nonsense"}}
	s := watchIndependently(ctx, t, client, unknown, inOne, inTwo)
	s.until("the watches have the objects, and one is rejected", func() bool {
		return inOne.holds(kit.VersionsOf(kept)) && inTwo.holds(kit.VersionsOf(lost)) && s.errors[0] == "NotFound" && len(s.counts.groups) == 2
	})
	caller.Revoke(two)
	s.until("the watch of the lost namespace ends", func() bool { return s.errors[2] == "Forbidden" && len(s.counts.groups) == 1 })
	kept = writeOne.Touch("kept", "touched")
	s.until("the other watch continues", func() bool { return inOne.holds(kit.VersionsOf(kept)) })
	if err := s.stream.Close(); err != nil {
		t.Error(err)
	}

	writeTwo.Touch("lost", "unseen")
	added := writeOne.Create("added", kit.Labels{"counted": "yes"})
	inNone := in("nowhere")
	s = watchIndependently(ctx, t, other, inOne, inNone)
	s.until("the watch continues at another replica", func() bool {
		return inOne.holds(kit.VersionsOf(kept, added)) && s.errors[1] == "Forbidden" && len(s.counts.groups) == 1
	})
	writeOne.Delete("kept")
	s.until("a deletion is delivered", func() bool { return inOne.holds(kit.VersionsOf(added)) })
	if inOne.model.Resets != 1 {
		t.Errorf("the watch has had %d resets", inOne.model.Resets)
	}
}
