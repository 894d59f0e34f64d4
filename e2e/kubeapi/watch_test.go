package kubeapi_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const (
	// watchesOfRound is the number of watches that are compared at a time, and writesOfRound that of the writes meanwhile.
	watchesOfRound, writesOfRound = 24, 120
	lastObject                    = "last"
	shownDifferences              = 5
)

// TestWatches_AreThoseOfTheAPIServer opens random watches at the API server and at two replicas, and changes objects. Each must receive
// the same events, in the same order.
func TestWatches_AreThoseOfTheAPIServer(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, time.Duration(kit.Rounds(t))*kit.FaultPatience)
	w := newWorld(ctx, t)
	replicas := []*harness.Service{kit.StartForCallers(t), kit.StartForCallers(t)}
	w.warm(ctx, replicas)
	w.populate(ctx)
	rnd := newRandom(t)
	for range kit.Rounds(t) {
		w.compareWatches(ctx, rnd, replicas)
	}
}

func (w *world) compareWatches(ctx context.Context, rnd *rand.Rand, replicas []*harness.Service) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// From an older version, a replica sends latest states in place of steps.
	versions := slices.DeleteFunc(w.versions(ctx), func(version string) bool {
		order, err := resourceversion.CompareResourceVersion(version, w.warmed)
		return version != "" && version != "0" && (err != nil || order < 0)
	})
	type pair struct {
		watch     read
		want, got *watching
	}
	var pairs []pair
	client := serviceClient(w.t)
	for range watchesOfRound {
		watch := w.randomWatch(rnd, versions)
		want := watch.open(ctx, w.t, w.api, apiAddress(w.t))
		for _, replica := range replicas {
			pairs = append(pairs, pair{watch, want, watch.open(ctx, w.t, client, replica.Address)})
		}
	}
	// Both sides begin with the same objects.
	for _, p := range pairs {
		kit.Eventually(ctx, w.t, "the initial events have arrived", func() error {
			if got, want := len(p.got.compared()), len(p.want.compared()); p.want.status == http.StatusOK && got != want {
				return fmt.Errorf("%s: %d events, want %d", p.watch, got, want)
			}
			return nil
		})
	}
	w.write(ctx, rnd)
	for _, namespace := range w.namespaces {
		w.createConfigMap(ctx, namespace, lastObject, "red")
	}
	cached, different := 0, 0
	for _, p := range pairs {
		p.want.await(ctx, w.t, p.watch)
		p.got.await(ctx, w.t, p.watch)
		if p.got.isCached {
			cached++
		}
		if difference := p.got.difference(p.want); difference != "" {
			if different++; different <= shownDifferences {
				w.t.Errorf("%s: %s", p.watch, difference)
			}
		}
	}
	if cached == 0 {
		w.t.Error("no watch was from a cache")
	}
	for _, namespace := range w.namespaces {
		if err := kit.Cluster(w.t).Client.CoreV1().ConfigMaps(namespace).Delete(ctx, lastObject, metav1.DeleteOptions{}); err != nil {
			w.t.Error(err)
		}
	}
	w.t.Logf("%d of %d watches were from a cache, and %d differed", cached, len(pairs), different)
}

func (w *world) randomWatch(rnd *rand.Rand, versions []string) read {
	r := read{caller: pick(rnd, w.callers...), method: http.MethodGet, query: url.Values{"watch": {"1"}}, accept: pick(rnd,
		"", "application/json", "application/vnd.kubernetes.protobuf", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
		"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")}
	r.path = pick(rnd, "/api/v1/configmaps", "/api/v1/namespaces/"+w.namespaces[0]+"/configmaps", "/api/v1/namespaces/"+w.namespaces[1]+"/configmaps")
	version := pick(rnd, versions...)
	if version != "" {
		r.query.Set("resourceVersion", version)
	}
	if rnd.IntN(3) == 0 {
		r.query.Set("allowWatchBookmarks", "true")
	}
	if rnd.IntN(4) == 0 {
		r.query.Set("sendInitialEvents", "true")
		r.query.Set("resourceVersionMatch", "NotOlderThan")
		r.query.Set("allowWatchBookmarks", "true")
	}
	// Each of these selects the last object, in its end.
	w.selectBy(r, pick(rnd, "", "", "color=red", "color in (red,green)", "color!=green"))
	if selector := pick(rnd, "", "", "metadata.name!=object-2", "metadata.namespace!="+"none"); selector != "" {
		r.query.Set("fieldSelector", selector)
	}
	return r
}

// write changes, creates and deletes ConfigMaps.
func (w *world) write(ctx context.Context, rnd *rand.Rand) {
	w.t.Helper()
	for range writesOfRound {
		api := kit.Cluster(w.t).Client.CoreV1().ConfigMaps(pick(rnd, w.namespaces...))
		object := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("object-%d", rnd.IntN(objectsInNamespace)), Labels: w.labels(pick(rnd, "red", "green"))},
			Data:       map[string]string{"key": fmt.Sprint(rnd.IntN(1000))},
		}
		if rnd.IntN(3) == 0 {
			_ = api.Delete(ctx, object.Name, metav1.DeleteOptions{}) // it may not exist
			continue
		}
		if _, err := api.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
			if _, err := api.Create(ctx, object, metav1.CreateOptions{}); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// watching is an open watch, and what it has received.
type watching struct {
	status   int
	isCached bool
	body     string // of an error

	mu      sync.Mutex // guards the fields below
	events  []watchEvent
	changed chan struct{} // closed at the next event
	ended   error
}

// watchEvent is an event, without what may differ.
type watchEvent struct {
	Type   string
	Object map[string]any
}

func (e watchEvent) String() string {
	metadata, _ := e.Object["metadata"].(map[string]any)
	if e.Type == "ERROR" {
		return fmt.Sprint("ERROR ", e.Object["message"])
	}
	return fmt.Sprintf("%s %v/%v@%v", e.Type, metadata["namespace"], metadata["name"], metadata["resourceVersion"])
}

func (r read) open(ctx context.Context, t *testing.T, client *http.Client, address string) *watching {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+r.path+"?"+r.query.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+r.caller.token)
	if r.accept != "" {
		request.Header.Set("Accept", r.accept)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	o := &watching{status: response.StatusCode, isCached: response.Header.Get("Kubeconnect-Source") == "cache", changed: make(chan struct{})}
	if response.StatusCode != http.StatusOK {
		defer func() { _ = response.Body.Close() }()
		body, _ := io.ReadAll(response.Body)
		o.body = string(body)
		return o
	}
	go o.read(r, response)
	return o
}

// read reads events until the response ends.
func (o *watching) read(r read, response *http.Response) {
	defer func() { _ = response.Body.Close() }()
	isProtobuf := strings.HasPrefix(response.Header.Get("Content-Type"), runtime.ContentTypeProtobuf)
	body := bufio.NewReader(response.Body)
	for {
		event, err := nextEvent(r, body, isProtobuf)
		o.mu.Lock()
		if err == nil {
			o.events = append(o.events, event)
		} else {
			o.ended = err
		}
		close(o.changed)
		o.changed = make(chan struct{})
		o.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func nextEvent(r read, body *bufio.Reader, isProtobuf bool) (event watchEvent, err error) {
	if !isProtobuf {
		line, err := body.ReadBytes('\n')
		if err != nil {
			return event, err
		}
		var decoded struct {
			Type   string
			Object json.RawMessage
		}
		if err := json.Unmarshal(line, &decoded); err != nil {
			return event, err
		}
		return watchEvent{decoded.Type, r.decode(answer{contentType: runtime.ContentTypeJSON, body: decoded.Object})}, nil
	}
	var length [4]byte
	if _, err := io.ReadFull(body, length[:]); err != nil {
		return event, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err := io.ReadFull(body, frame); err != nil {
		return event, err
	}
	var decoded metav1.WatchEvent
	if err := decoded.Unmarshal(frame); err != nil {
		return event, err
	}
	return watchEvent{decoded.Type, r.decode(answer{contentType: runtime.ContentTypeProtobuf, body: decoded.Object.Raw})}, nil
}

// await blocks until the watch has received the last object of each of its namespaces, or has ended.
func (o *watching) await(ctx context.Context, t *testing.T, r read) {
	t.Helper()
	wanted := 1
	if !strings.Contains(r.path, "/namespaces/") {
		wanted = 2
	}
	for o.status == http.StatusOK {
		o.mu.Lock()
		received, ended, changed := 0, o.ended, o.changed
		for _, event := range o.events {
			if metadata, _ := event.Object["metadata"].(map[string]any); metadata["name"] == lastObject {
				received++
			}
		}
		events := len(o.events)
		o.mu.Unlock()
		if received >= wanted || ended != nil {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("%s: %d events, and not the last: %v", r, events, context.Cause(ctx))
		}
	}
}

// awaitEnd blocks until the watch, or ctx, has ended.
func (o *watching) awaitEnd(ctx context.Context) {
	for {
		o.mu.Lock()
		ended, changed := o.ended, o.changed
		o.mu.Unlock()
		if ended != nil {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// difference returns in what the events differ from those of the API server; empty if they do not. The initial events have no order.
// Bookmarks are sent at times of their own, and only the one that ends the initial events is compared.
func (o *watching) difference(want *watching) string {
	if o.status != want.status {
		return fmt.Sprintf("the status is %d %s, want %d %s", o.status, o.body, want.status, want.body)
	}
	got, expected := o.compared(), want.compared()
	if len(got) != len(expected) {
		at := 0
		for at < min(len(got), len(expected)) && reflect.DeepEqual(got[at], expected[at]) {
			at++
		}
		return fmt.Sprintf("%d events, want %d; from event %d on:\n%v\nwant\n%v", len(got), len(expected), at, first(got[at:]), first(expected[at:]))
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], expected[i]) {
			return fmt.Sprintf("event %d is %s %v, want %s %v", i, got[i], got[i].Object, expected[i], expected[i].Object)
		}
	}
	return ""
}

// first returns the first of some events.
func first(events []watchEvent) []watchEvent { return events[:min(len(events), 5)] }

func (o *watching) compared() []watchEvent {
	o.mu.Lock()
	defer o.mu.Unlock()
	var events []watchEvent
	for _, event := range o.events {
		if event.Type == "BOOKMARK" {
			metadata, _ := event.Object["metadata"].(map[string]any)
			annotations, _ := metadata["annotations"].(map[string]any)
			if len(annotations) == 0 {
				continue
			}
			event.Object = map[string]any{"kind": event.Object["kind"], "annotations": annotations}
		}
		events = append(events, event)
	}
	// The initial events are the first ones, each of another object, in any order.
	initial := 0
	for seen := map[string]bool{}; initial < len(events) && events[initial].Type == "ADDED"; initial++ {
		metadata, _ := events[initial].Object["metadata"].(map[string]any)
		key := fmt.Sprint(metadata["namespace"], "/", metadata["name"])
		if seen[key] {
			break
		}
		seen[key] = true
	}
	slices.SortStableFunc(events[:initial], func(a, b watchEvent) int { return strings.Compare(a.String(), b.String()) })
	return events
}
