package queries_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

const (
	// livePageScrolls is the number of times that clients scroll or go back to an earlier token.
	livePageScrolls = 400
	// livePageScroll is the pause between two of them.
	livePageScroll = 30 * time.Millisecond
)

// livePages are pages of every kind. Their filters are those that package validate can evaluate.
func livePages(namespace string) map[string]*kubeconnectv1.WatchRequest {
	return map[string]*kubeconnectv1.WatchRequest{
		"in the default order":   {},
		"by a number, with ties": {OrderBy: "spec.rank"},
		"by a quantity back":     {OrderBy: "spec.size desc, metadata.name"},
		"by values of all kinds": {OrderBy: "spec.mixed", Encoding: kit.EncodingJSON, PatchFormat: kubeconnectv1.PatchFormat_PATCH_FORMAT_JSON},
		"by values of all kinds back": {
			OrderBy: "spec.mixed desc, spec.rank", Encoding: kit.EncodingJSON, PatchFormat: kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE,
		},
		"of a label":                      {LabelSelector: "color=red", OrderBy: "metadata.labels.color, spec.rank desc"},
		"of a field":                      {FieldSelector: "spec.color!=blue", OrderBy: "spec.color desc"},
		"of a namespace":                  {Namespace: namespace, OrderBy: "metadata.name desc", PatchFormat: kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE},
		"of a filter":                     {Filter: `object.spec.color != "green"`, OrderBy: "spec.rank desc"},
		"some fields, sorted by others":   {Fields: []string{"spec.color"}, OrderBy: "spec.rank, spec.size", Encoding: kit.EncodingJSON},
		"the metadata, sorted by another": {MetadataOnly: true, Fields: []string{"metadata.labels"}, OrderBy: "spec.mixed"},
	}
}

// TestLivePage_IsTheSortedListWhateverHappens changes objects at random while clients show pages and
// scroll, at three replicas of which one is stopped and one is killed. After each change a page must be
// that of the cluster at its version.
func TestLivePage_IsTheSortedListWhateverHappens(t *testing.T) {
	for name, flags := range map[string]func(resource string) []string{
		"of a cached resource":             func(string) []string { return nil },
		"of a resource that is not cached": func(resource string) []string { return []string{"--uncached", resource} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pagesWhateverHappens(t, flags)
		})
	}
}

func pagesWhateverHappens(t *testing.T, flagsFor func(resource string) []string) {
	t.Helper()
	ctx := kit.Deadline(t)
	world := newLivePageWorld(ctx, t)
	flags := flagsFor(world.gadgets.Name())
	stays := harness.StartService(t, kit.Cluster(t).Kubeconfig, flags...)
	mortal := []*harness.Service{
		harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, "127.0.0.1:0", flags...), harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, "127.0.0.1:0", flags...),
	}
	var followers []*record.PageFollower
	for name, request := range livePages(world.namespaces[0]) {
		request.Resource = world.gadgets.Name()
		followers = append(followers, record.FollowPages(t, name, request, kit.WatchClients(t, append(mortal, stays)...)...))
	}
	stop := world.churn(ctx)
	defer stop()
	for i := range livePageScrolls {
		follower := followers[rand.IntN(len(followers))]
		if rand.IntN(4) == 0 {
			follower.GoBack()
		} else {
			follower.Scroll()
		}
		switch i {
		case livePageScrolls / 3:
			mortal[0] = restarted(t, mortal[0], (*harness.Service).Stop, flags...)
		case 2 * livePageScrolls / 3:
			mortal[1] = restarted(t, mortal[1], func(service *harness.Service) error { service.Crash(); return nil }, flags...)
		}
		kit.Last(ctx, livePageScroll)
	}
	stop()
	last := world.settle(ctx, "last")
	var total livePageTally
	for _, follower := range followers {
		follower.Reaches(ctx, last)
		recording := follower.Stop()
		kit.WantPagesWithoutViolation(t, recording, validate.Evidence{Writes: world.writes})
		total.count(recording)
	}
	t.Log(total)
}

// restarted ends a service, and starts it again at the same address.
func restarted(t *testing.T, service *harness.Service, end func(*harness.Service) error, flags ...string) *harness.Service {
	t.Helper()
	if err := end(service); err != nil {
		t.Errorf("the service exited: %v", err)
	}
	return harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, kit.HostPort(service), flags...)
}

// livePageTally counts what recordings show.
type livePageTally struct {
	calls, back, states int
	events              map[kubeconnectv1.EventType]int
}

func (c *livePageTally) count(recording *validate.PageRecording) {
	if c.events == nil {
		c.events = make(map[kubeconnectv1.EventType]int)
	}
	c.calls += len(recording.Calls)
	for _, call := range recording.Calls {
		if call.From != nil {
			c.back++
		}
		for _, response := range call.Responses {
			if response.Page != nil {
				c.states++
			}
			for _, event := range response.Events {
				c.events[event.GetType()]++
			}
		}
	}
}

func (c livePageTally) String() string {
	text := []string{fmt.Sprintf("%d calls, %d with earlier tokens, %d states", c.calls, c.back, c.states)}
	for kind, count := range c.events {
		text = append(text, fmt.Sprintf("%s %d", kind, count))
	}
	return strings.Join(text, ", ")
}
