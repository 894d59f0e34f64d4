package queries_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// countsRequest asks for the counts of a namespace's ConfigMaps by color, with aggregates of their
// sizes.
func countsRequest(namespace string) *kubeconnectv1.WatchCountsRequest {
	return &kubeconnectv1.WatchCountsRequest{
		Resource: "configmaps", Namespace: namespace, LabelSelector: "counted", GroupBy: []string{"metadata.labels.color"},
		Aggregates:  []*kubeconnectv1.Aggregate{aggregateOf(sumOf, "data.size"), aggregateOf(maxOf, "data.size")},
		MinInterval: durationpb.New(100 * time.Millisecond),
	}
}

// heldCounts are the counts that a client of WatchCounts has.
type heldCounts struct {
	groups  map[string]string // lines by their values
	total   string
	version string
}

// apply applies a response, and reports whether it has counts.
func (h *heldCounts) apply(response *kubeconnectv1.WatchCountsResponse) bool {
	if response.GetReset_() {
		h.groups = map[string]string{}
	}
	for _, group := range response.GetGroups() {
		key := fmt.Sprint(group.GetValues())
		if h.groups[key] = aggregateLines([]*kubeconnectv1.ObjectGroup{group})[0]; group.GetCount() == 0 {
			delete(h.groups, key)
		}
	}
	h.version = response.GetResourceVersion()
	h.total = fmt.Sprintf("%d %s", response.GetTotalCount(), aggregatesText(response.GetAggregates()))
	return h.version != ""
}

func (h *heldCounts) String() string {
	return h.total + "\n" + strings.Join(slices.Sorted(maps.Values(h.groups)), "\n")
}

// countsIn returns the same of ConfigMaps, computed independently of the service.
func countsIn(objects map[string]*corev1.ConfigMap) string {
	type summary struct {
		count   int
		sizes   resource.Quantity
		largest resource.Quantity
	}
	groups, total := map[string]*summary{}, &summary{}
	for _, object := range objects {
		color := object.Labels["color"]
		if groups[color] == nil {
			groups[color] = &summary{}
		}
		for _, group := range []*summary{total, groups[color]} {
			size := resource.MustParse(object.Data["size"])
			group.count++
			group.sizes.Add(size)
			if size.Cmp(group.largest) > 0 {
				group.largest = size
			}
		}
	}
	text := func(s *summary) string {
		if s.count == 0 {
			return "0 <nil> of 0, <nil> of 0"
		}
		return fmt.Sprintf("%d %s of %d, %s of %d", s.count, decimal(s.sizes), s.count, decimal(s.largest), s.count)
	}
	lines := make([]string, 0, len(groups))
	for color, group := range groups {
		lines = append(lines, color+": "+text(group))
	}
	slices.Sort(lines)
	return text(total) + "\n" + strings.Join(lines, "\n")
}

// decimal returns a quantity without unneeded zeros.
func decimal(quantity resource.Quantity) string {
	text := quantity.AsDec().String()
	if !strings.Contains(text, ".") {
		return text
	}
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

// history is what the API server reports of a namespace's ConfigMaps.
type history struct {
	events []watch.Event
	last   string // the version of the final ConfigMap
}

// record records the events of a namespace's ConfigMaps up to the one with a final name.
func (h *history) record(ctx context.Context, t *testing.T, namespace, final string) (wait func()) {
	t.Helper()
	events, err := kit.Cluster(t).Client.CoreV1().ConfigMaps(namespace).Watch(ctx, metav1.ListOptions{LabelSelector: "counted"})
	if err != nil {
		t.Fatal(err)
	}
	var recording sync.WaitGroup
	recording.Go(func() {
		defer events.Stop()
		for event := range events.ResultChan() {
			h.events = append(h.events, event)
			if object, ok := event.Object.(*corev1.ConfigMap); ok && object.Name == final {
				h.last = object.ResourceVersion
				return
			}
		}
	})
	return recording.Wait
}

// at returns the counts at a version.
func (h *history) at(t *testing.T, version string) string {
	t.Helper()
	objects := map[string]*corev1.ConfigMap{}
	for _, event := range h.events {
		object, ok := event.Object.(*corev1.ConfigMap)
		if !ok {
			t.Fatalf("the API server sends %v", event)
		}
		if kit.IsNewer(t, object.ResourceVersion, version) {
			break
		}
		if objects[object.Name] = object; event.Type == watch.Deleted {
			delete(objects, object.Name)
		}
	}
	return countsIn(objects)
}

// writeAtRandom creates, changes and deletes ConfigMaps, and at last creates one with a final name.
func writeAtRandom(ctx context.Context, t *testing.T, namespace, final string) {
	t.Helper()
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	exists := map[string]bool{}
	labels := func() map[string]string {
		return map[string]string{"counted": "yes", "color": []string{"red", "green", "blue", "black"}[rand.N(4)]}
	}
	size := func() string { return []string{"1", "500m", "2k", "12Gi", "0.1", "17"}[rand.N(6)] }
	create := func(name string) {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels()}, Data: map[string]string{"size": size()}}
		if _, err := write.API.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
	}
	for range 150 {
		name := fmt.Sprint("c-", rand.N(15))
		switch {
		case !exists[name]:
			create(name)
			exists[name] = true
		case rand.N(3) == 0:
			write.Delete(name)
			delete(exists, name)
		case rand.N(2) == 0:
			write.Patch(name, map[string]any{"data": map[string]any{"other": fmt.Sprint(rand.N(1000))}})
		default:
			write.Patch(name, map[string]any{"metadata": map[string]any{"labels": labels()}, "data": map[string]any{"size": size()}})
		}
	}
	create(final)
}

// TestWatchCounts_EachResponseIsACountAtItsVersion compares the counts that a client has after each
// response with those of the API server's history, and finally with those of Count.
func TestWatchCounts_EachResponseIsACountAtItsVersion(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		var recorded history
		recordedAll := recorded.record(ctx, t, namespace, "final")
		stream, err := responses.Of(client.WatchCounts(ctx, countsRequest(namespace)))
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		ended := make(chan string, 1)
		go func() {
			writeAtRandom(ctx, t, namespace, "final")
			recordedAll()
			ended <- recorded.last
		}()
		var held heldCounts
		counts, final := map[string]string{}, ""
		for final == "" || kit.IsNewer(t, final, held.version) {
			if !stream.Receive() {
				t.Fatalf("the stream has ended: %v", stream.Err())
			}
			if held.apply(stream.Msg()) {
				counts[held.version] = held.String()
			}
			select {
			case final = <-ended:
			default:
			}
		}
		for version, got := range counts {
			if want := recorded.at(t, version); got != want {
				t.Errorf("at version %s the client has %s\nwant %s", version, got, want)
			}
		}
		if len(counts) < 5 {
			t.Errorf("only %d versions were compared", len(counts))
		}
		t.Logf("compared %d versions of %d events", len(counts), len(recorded.events))
		wantSameCount(ctx, t, client, namespace, held)
	})
}

// wantSameCount fails the test unless Count has the same result.
func wantSameCount(ctx context.Context, t *testing.T, client kit.ResourceClient, namespace string, held heldCounts) {
	t.Helper()
	request := countsRequest(namespace)
	count, err := client.Count(ctx, &kubeconnectv1.CountRequest{
		Resource: request.GetResource(), Namespace: namespace, LabelSelector: request.GetLabelSelector(),
		GroupBy: request.GetGroupBy(), Aggregates: request.GetAggregates(), MinResourceVersion: held.version,
	})
	if err != nil {
		t.Fatal(err)
	}
	counted := heldCounts{}
	counted.apply(&kubeconnectv1.WatchCountsResponse{Reset_: true, Groups: count.GetGroups(), TotalCount: count.GetTotalCount(), Aggregates: count.GetAggregates()})
	if counted.String() != held.String() {
		t.Errorf("Count returns %s\nthe stream has %s", counted.String(), held.String())
	}
}

// TestWatchCounts_ContinuesInAnotherServedVersion stops serving the version that the stream began
// with, and then deletes the definition.
func TestWatchCounts_ContinuesInAnotherServedVersion(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	gadgets.Create("v1", namespace, "one", map[string]any{"color": "red"})
	kit.UntilListed(ctx, t, client, gadgets)
	stream, err := responses.Of(client.WatchCounts(ctx, &kubeconnectv1.WatchCountsRequest{Resource: gadgets.Name(), Namespace: namespace, GroupBy: []string{"spec.color"}}))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var held heldCounts
	version := ""
	until := func(wantVersion string, want ...string) {
		t.Helper()
		for version != wantVersion || !slices.Equal(slices.Sorted(maps.Values(held.groups)), want) {
			if !stream.Receive() {
				t.Fatalf("the stream has ended: %v", stream.Err())
			}
			held.apply(stream.Msg())
			if stream.Msg().GetReset_() {
				version = stream.Msg().GetResource().GetVersion()
			}
		}
	}
	until("v1", "red: 1 ")
	gadgets.Serve([]string{"v1", "v2"}, nil)
	gadgets.Create("v2", namespace, "two", map[string]any{"color": "green"})
	until("v1", "green: 1 ", "red: 1 ")
	gadgets.Serve([]string{"v2"}, []string{"v1"})
	gadgets.Create("v2", namespace, "three", map[string]any{"color": "red"})
	until("v2", "green: 1 ", "red: 2 ")
	gadgets.Remove()
	for stream.Receive() {
		held.apply(stream.Msg())
	}
	kit.WantError(t, stream.Err(), connect.CodeNotFound)
}
