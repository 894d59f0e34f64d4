package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/bench/callers"
	"github.com/kubeconnect/kubeconnect/e2e/costly"
	"github.com/kubeconnect/kubeconnect/e2e/harness"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// attack is what callers with small permissions do: an opening, whose streams stay open, and an action.
// Either may be nil.
type attack struct {
	name      string
	open, act func(*attacker) error
}

// attacks are all attacks, in the order of the table.
var attacks = []attack{
	{
		name: "relation: 10 streams of the owners of an ownerless object, next to another caller's streams",
		open: (*attacker).openRelated, act: (*attacker).createShared,
	},
	{
		name: "matching: 2000 streams with a filter each, 3 changes of their object in 10 s",
		open: streams("evil", evilNamespace, 2000, stream("Watch.filter (loop)")), act: patches("evil", evilNamespace, 3300*time.Millisecond),
	},
	{
		name: "matching: 100 streams with a filter each, 2 changes of their object a second",
		open: streams("evil", evilNamespace, 100, stream("Watch.filter (loop)")), act: patches("evil", evilNamespace, 500*time.Millisecond),
	},
	{
		name: "compiling: 20 lists with a filter each, by a caller without permissions",
		act:  calls("nobody", evilNamespace, 20, 20, call("List.filter (indexes)")),
	},
	{
		name: "compiling: a stream of 15 watches with a filter each, by a caller without permissions that leaves",
		act:  (*attacker).leaveWatches,
	},
	{
		name: "compiling: 2000 lists with fields, by a caller without permissions",
		act:  calls("nobody", evilNamespace, 50, 2000, call("List.fields")),
	},
	{
		name: "keeping: 400 idle streams with a filter each",
		open: streams("evil", evilNamespace, 400, stream("Watch.filter")), act: idle,
	},
	{
		name: "keeping: 400 idle streams with a filter of literals each",
		open: streams("evil", evilNamespace, 400, stream("Watch.filter (literals)")), act: idle,
	},
	{
		name: "keeping: 1000 idle streams of log lines with positions",
		open: streams("evil", evilNamespace, 1000, stream("GetLogLines.resume_after")), act: idle,
	},
	{
		name: "keeping: 2000 idle streams with a label selector each",
		open: streams("evil", evilNamespace, 2000, stream("Watch.label_selector")), act: idle,
	},
	{
		name: "joining: 400 pages with a join over large objects, and ten lists with a filter of another caller",
		open: (*attacker).openJoins,
	},
	{
		name: "own changes: 2000 streams of all objects, 60 changes a second",
		open: streams("evil", evilNamespace, 2000, stream("Watch.resource")), act: patches("evil", evilNamespace, time.Second/60),
	},
}

func attackNamed(name string) attack {
	return attacks[slices.IndexFunc(attacks, func(a attack) bool { return a.name == name })]
}

func stream(name string) costly.Request { return named(costly.Streams(), name) }

func call(name string) costly.Request { return named(costly.Calls(), name) }

func named(all []costly.Request, name string) costly.Request {
	return all[slices.IndexFunc(all, func(r costly.Request) bool { return r.Name == name })]
}

func streams(caller, namespace string, count int, request costly.Request) func(*attacker) error {
	return func(a *attacker) error {
		a.openStreams(caller, namespace, count, request)
		return nil
	}
}

func calls(caller, namespace string, workers, count int, request costly.Request) func(*attacker) error {
	return func(a *attacker) error {
		a.callTimes(caller, namespace, workers, count, request)
		return nil
	}
}

func patches(caller, namespace string, pace time.Duration) func(*attacker) error {
	return func(a *attacker) error { return a.patchFor(caller, namespace, pace) }
}

func idle(a *attacker) error {
	callers.Wait(a.ctx, a.Lasts)
	return nil
}

const (
	// relatedStreams is the number of streams with a relation that selects nothing.
	relatedStreams = 10
	// createdObjects is the number of objects that the other caller has to receive.
	createdObjects = 40
	// deliveryTime is the time in which they are delivered, with a wide margin.
	deliveryTime = 5 * time.Second
)

// observed is what the other caller received.
type observed struct {
	mu      sync.Mutex // guards the fields below
	created map[string]bool
	counted int64 // the total of its counts
	paged   int64 // the total of its page
}

var other observed // of the attacking process

// openRelated opens the streams with the relation, and then those of the other caller.
func (a *attacker) openRelated() error {
	a.openStreams("shared-a", sharedNamespace, relatedStreams, costly.Request{Open: func(ctx context.Context, clients harness.Clients, namespace string, _ int) (costly.Stream, error) {
		return responses.Of(clients.Resources.Watch(ctx, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, Related: &kubeconnectv1.Relation{
			Type: kubeconnectv1.RelationType_RELATION_TYPE_OWNER_OF, Resource: "configmaps", Namespace: namespace, Name: costly.Object,
		}}))
	}})
	other.created = map[string]bool{}
	resources := a.clients("shared-b").Resources
	watch, err := responses.Of(resources.Watch(a.ctx, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: sharedNamespace}))
	if err != nil {
		return err
	}
	page, err := responses.Of(resources.Watch(a.ctx, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: sharedNamespace, Limit: 10}))
	if err != nil {
		return err
	}
	counts, err := responses.Of(resources.WatchCounts(a.ctx, &kubeconnectv1.WatchCountsRequest{Resource: "configmaps", Namespace: sharedNamespace}))
	if err != nil {
		return err
	}
	a.streams.Go(func() {
		for watch.Receive() {
			other.note(func() {
				for _, event := range watch.Msg().GetEvents() {
					other.created[event.GetObject().GetName()] = true
				}
			})
		}
	})
	a.streams.Go(func() {
		for page.Receive() {
			if state := page.Msg().GetPage(); state != nil {
				other.note(func() { other.paged = state.GetTotalCount() })
			}
		}
	})
	a.streams.Go(func() {
		for counts.Receive() {
			other.note(func() { other.counted = counts.Msg().GetTotalCount() })
		}
	})
	callers.Wait(a.ctx, deliveryTime)
	return nil
}

func (o *observed) note(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
}

// createShared creates objects, and notes what the other caller received of them.
func (a *attacker) createShared() error {
	api, err := a.api("shared-writer")
	if err != nil {
		return err
	}
	for i := range createdObjects {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("created-%02d", i)}}
		if _, err := api.CoreV1().ConfigMaps(sharedNamespace).Create(a.ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	list, err := api.CoreV1().ConfigMaps(sharedNamespace).List(a.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	callers.Wait(a.ctx, deliveryTime)
	other.mu.Lock()
	defer other.mu.Unlock()
	received := 0
	for i := range createdObjects {
		if other.created[fmt.Sprintf("created-%02d", i)] {
			received++
		}
	}
	a.note("the other caller received %d of %d objects; its counts say %d and its page %d of %d", received, createdObjects, other.counted, other.paged, len(list.Items))
	return nil
}

// leaveWatches opens a stream of watches with filters, and leaves it after a second.
func (a *attacker) leaveWatches() error {
	request := &kubeconnectv1.WatchManyRequest{}
	for i := range 15 {
		request.Watches = append(request.Watches, &kubeconnectv1.WatchSpec{Resource: "configmaps", Namespace: evilNamespace, Filter: costly.IndexFilter(i)})
	}
	ctx, leave := context.WithCancel(a.ctx) // and no deadline, of which the service would know
	defer leave()
	time.AfterFunc(time.Second, leave)
	stream, err := responses.Of(a.clients("nobody").Resources.WatchMany(ctx, request))
	if err == nil {
		for stream.Receive() {
		}
		err = stream.Err()
		_ = stream.Close()
	}
	a.result(err)
	callers.Wait(a.ctx, a.Lasts)
	return nil
}

// openJoins opens pages with joins while another caller lists.
func (a *attacker) openJoins() error {
	var listing sync.WaitGroup
	listing.Go(func() {
		a.callTimes("lister", listedNamespace, 10, 1_000, costly.Request{Call: func(ctx context.Context, clients harness.Clients, namespace string, number int) error {
			_, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, Filter: costly.LoopFilter(number), MetadataOnly: true})
			return err
		}})
	})
	a.openStreams("large", largeNamespace, 400, costly.Request{Open: func(ctx context.Context, clients harness.Clients, namespace string, number int) (costly.Stream, error) {
		return responses.Of(clients.Resources.Watch(ctx, &kubeconnectv1.WatchRequest{
			Resource: "configmaps", Namespace: namespace, Limit: 500, MetadataOnly: true, LabelSelector: fmt.Sprint("app!=", number),
			Joins: []*kubeconnectv1.Join{{Name: "named", Type: kubeconnectv1.JoinType_JOIN_TYPE_NAMES, Resource: "configmaps", Path: "data[*]"}},
		}))
	}})
	listing.Wait()
	return nil
}
