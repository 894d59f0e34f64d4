// The tests of this file fail: each is of words of the API that do not hold.

package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// "The rows, in order of namespace and name": where one namespace is the beginning of another.
func TestChecked_ATableIsInTheOrderOfNamespaceAndName(t *testing.T) {
	soakOnly(t)
	t.Parallel()
	ctx := deadline(t)
	in := cluster(t)
	short := newNamespace(ctx, t, in)
	long := nameNamespace(ctx, t, short+"-b")
	var want []string
	for _, namespace := range []string{short, long} {
		configMapsIn(ctx, t, in, namespace).create("a", labels{"order": short})
		want = append(want, namespace+"/a")
	}
	client := checkedReplicas(t, in, 1)[0]
	for _, size := range []int32{0, 1} {
		var got []string
		request := &kubeconnectv1.GetTableRequest{Resource: "configmaps", LabelSelector: "order=" + short, PageSize: size}
		for range maxPages {
			page, err := client.GetTable(ctx, request)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range page.GetRows() {
				got = append(got, row.GetNamespace()+"/"+row.GetName())
			}
			if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("a table in pages of %d: %v, want %v", size, got, want)
		}
	}
}

// "the answer's warnings say how many and why": "of the whole list, on its first page".
func TestChecked_WarningsOfAFilterAreOfTheWholeListOnItsFirstPage(t *testing.T) {
	soakOnly(t)
	t.Parallel()
	ctx := deadline(t)
	s := newShelf(ctx, t, 12)
	clients := checkedReplicas(t, cluster(t), 2)
	for _, order := range []string{"", "metadata.name desc"} {
		request := &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.namespace, Filter: "object.metadata.labels.rank == '0'", PageSize: 1, MinResourceVersion: s.last, OrderBy: order}
		first, err := clients[0].List(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		// Four of twelve have no rank: 3, 7, 11, and "outside".
		if !strings.Contains(strings.Join(first.GetWarnings(), "\n"), "4") {
			t.Errorf("order %q: the warnings are %q, of 4 objects", order, first.GetWarnings())
		}
		request.PageToken = first.GetNextPageToken()
		for i, client := range clients {
			second, err := client.List(ctx, request)
			if err != nil {
				t.Fatal(err)
			}
			if len(second.GetWarnings()) != 0 {
				t.Errorf("order %q, replica %d: the second page warns: %q", order, i, second.GetWarnings())
			}
		}
	}
}

// WatchResponse.kind: "Set in the first response of a stream", which is a BOOKMARK without a version
// where the stream waits for the first snapshot.
func TestChecked_TheFirstResponseOfAStreamThatWaitsHasAKind(t *testing.T) {
	soakOnly(t)
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	client, link := newClientBehindProxy(t, cluster(t), harness.None)
	if _, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace}); err != nil {
		t.Fatal(err)
	}
	link.Set(harness.Frozen)
	response, err := firstOf(ctx, client, &kubeconnectv1.WatchRequest{Resource: "pods", Namespace: namespace})
	if err != nil || response.GetKind().GetKind() != "Pod" || response.GetSource() == 0 {
		t.Errorf("the first response is %v, %v", response, err)
	}
}

// One watch of several waits: the others send as if they were alone.
func TestChecked_OneOfSeveralWatchesWaitsForItsFirstSnapshot(t *testing.T) {
	soakOnly(t)
	t.Parallel()
	ctx := deadlineAfter(t, 2*patience)
	s := newShelf(ctx, t, 2)
	client, link := newClientBehindProxy(t, cluster(t), harness.None)
	record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: s.namespace}).Synced(ctx)
	link.Set(harness.Frozen)
	began := time.Now()
	record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: s.namespace}).Synced(ctx)
	t.Logf("alone the watch has its snapshot after %v", time.Since(began))
	stream, err := client.WatchMany(ctx, &kubeconnectv1.WatchManyRequest{Watches: []*kubeconnectv1.WatchRequest{
		{Resource: "configmaps", Namespace: s.namespace}, {Resource: "pods", Namespace: s.namespace},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	synced, waits, token := false, 0, ""
	for stream.Receive() {
		response := stream.Msg()
		token = response.GetResumeToken()
		t.Logf("after %v: watch %d, %d events, token %q", time.Since(began), response.GetWatch(), len(response.GetResponse().GetEvents()), token)
		if response.GetResponse().GetResumeToken() != "" {
			t.Errorf("a response within has the token %q", response.GetResponse().GetResumeToken())
		}
		for _, event := range response.GetResponse().GetEvents() {
			switch {
			case response.GetWatch() == 0 && event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED:
				synced = true
			case response.GetWatch() == 1 && event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK && event.GetResourceVersion() == "":
				waits++
			case response.GetWatch() == 1:
				t.Errorf("the watch that waits says %v", event)
			}
		}
	}
	err = stream.Err()
	t.Logf("%v with status %v", err, statusIn(err))
	wantError(t, err, connect.CodeUnavailable, "1")
	if !synced || waits == 0 || token == "" {
		t.Errorf("synced: %t, %d bookmarks of the watch that waits, token %q", synced, waits, token)
	}
	link.Set(harness.None)
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	again, err := client.WatchMany(watching, &kubeconnectv1.WatchManyRequest{ResumeToken: token, Watches: []*kubeconnectv1.WatchRequest{
		{Resource: "configmaps", Namespace: s.namespace}, {Resource: "pods", Namespace: s.namespace},
	}})
	if err != nil {
		t.Fatal(err)
	}
	resets := map[int32]int{}
	done := false
	for !done && again.Receive() {
		for _, event := range again.Msg().GetResponse().GetEvents() {
			if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_RESET {
				resets[again.Msg().GetWatch()]++
			}
			done = done || again.Msg().GetWatch() == 1 && event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED
		}
	}
	if !maps.Equal(resets, map[int32]int{1: 1}) {
		t.Errorf("after the wait the watches have begun %v: %v", resets, again.Err())
	}
	cancel()
	_ = again.Close()
}

// "or when the call's own deadline is near, DEADLINE_EXCEEDED with retry_after_seconds."
func TestChecked_AVersionOfTheFutureIsRefusedBeforeTheCallsOwnDeadline(t *testing.T) {
	soakOnly(t)
	t.Parallel()
	ctx := deadline(t)
	s := newShelf(ctx, t, 2)
	service := harness.StartService(t, cluster(t).Kubeconfig)
	for _, protocol := range []harness.Protocol{harness.GRPC, harness.Connect} {
		client := harness.Dial(harness.HTTP2(t), service.Address, protocol).Resources
		if _, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.namespace}); err != nil {
			t.Fatal(err)
		}
		for _, within := range []time.Duration{time.Second, 3 * time.Second} {
			for name, call := range callsForTheFuture(t, client, s.namespace) {
				began := time.Now()
				calling, cancel := context.WithTimeout(ctx, within)
				err := call(calling)
				cancel()
				if connect.CodeOf(err) != connect.CodeDeadlineExceeded || statusIn(err).GetRetryAfterSeconds() <= 0 {
					t.Errorf("%s, %s within %v: after %v %v with status %v", protocol.Name, name, within, time.Since(began), err, statusIn(err))
				}
			}
		}
	}
}

// A waiting for a version is none for the first snapshot: a BOOKMARK without a version "says that the
// stream waits for the service's first snapshot of the resource", and stale that the API server is lost.
func TestChecked_AStreamThatWaitsForAVersionIsNotStale(t *testing.T) {
	soakOnly(t)
	t.Parallel()
	ctx := deadline(t)
	s := newShelf(ctx, t, 2)
	client := checkedReplicas(t, cluster(t), 1)[0]
	list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.namespace, MinResourceVersion: s.last})
	if err != nil || list.GetFreshness().GetStale() {
		t.Fatalf("%v, %v", list.GetFreshness(), err)
	}
	response, err := firstOf(ctx, client, &kubeconnectv1.WatchRequest{Resource: "pods", Namespace: s.namespace, MinResourceVersion: "900000000000"})
	if err == nil && (response.GetFreshness().GetStale() || response.GetFreshness().GetLastContact() == nil) {
		t.Errorf("a stream of what is in memory and current says %v", response)
	}
}

// Several watches in one stream that ends by its age: "one token resumes them all".
func TestChecked_SeveralWatchesContinueAtAnotherReplicaWhenStreamsEndByTheirAge(t *testing.T) {
	soakOnly(t)
	t.Parallel()
	ctx := deadline(t)
	s := newShelf(ctx, t, 4)
	write := configMapsIn(ctx, t, cluster(t), s.namespace)
	write.create("written", nil)
	clients := checkedReplicas(t, cluster(t), 3, "--max-stream-age", "2s")
	request := &kubeconnectv1.WatchManyRequest{Watches: []*kubeconnectv1.WatchRequest{
		{Resource: "pods", Namespace: s.namespace, LabelSelector: "app=web"},
		{Resource: "configmaps", Namespace: s.namespace, Patches: kubeconnectv1.PatchType_PATCH_TYPE_MERGE},
		{Resource: "pods", Namespace: s.namespace, Filter: "object.metadata.labels.rank == '0'", MetadataOnly: true},
	}}
	models := make([]validate.Model, 3)
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	var ends []error
	changes := 0
	for i := 0; len(ends) < 5; i++ {
		stream, err := clients[i%3].WatchMany(watching, request)
		if err != nil {
			t.Fatal(err)
		}
		for stream.Receive() {
			message := stream.Msg()
			request.ResumeToken = message.GetResumeToken()
			for _, event := range message.GetResponse().GetEvents() {
				model := &models[message.GetWatch()]
				event = model.Whole(event)
				if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_RESET && i > 0 {
					t.Errorf("call %d: watch %d resyncs, after version %s", i, message.GetWatch(), model.Version)
				}
				if held := model.Objects[validate.KeyOf(event.GetObject())]; held != nil && event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_ADDED {
					t.Errorf("watch %d: ADDED of what is held: %v", message.GetWatch(), record.Line(event))
				}
				model.Apply(event)
			}
			changes++
			if changes%2 == 0 && changes < 200 {
				s.relabel("p-01", fmt.Sprintf(`{"rank":"%d"}`, changes/2%2))
				write.touch("written", fmt.Sprint(changes))
			}
		}
		ends = append(ends, stream.Err())
		_ = stream.Close()
	}
	for _, err := range ends {
		if connect.CodeOf(err) != connect.CodeUnavailable || statusIn(err).GetReason() != "StreamMoved" {
			t.Errorf("a stream has ended with %v and status %v", err, statusIn(err))
		}
	}
	s.relabel("p-01", `{"rank":"0","end":"end"}`)
	last := write.touch("written", "end").ResourceVersion
	stream, err := clients[0].WatchMany(watching, request)
	if err != nil {
		t.Fatal(err)
	}
	reached := func(i int, version string) bool {
		return models[i].Version != "" && !laterThan(version, models[i].Version)
	}
	for !(reached(0, s.last) && reached(1, last) && reached(2, s.last)) && stream.Receive() {
		for _, event := range stream.Msg().GetResponse().GetEvents() {
			model := &models[stream.Msg().GetWatch()]
			model.Apply(model.Whole(event))
		}
	}
	cancel()
	_ = stream.Close()
	for i, model := range models {
		if model.Resets != 1 {
			t.Errorf("watch %d has begun %d times", i, model.Resets)
		}
		list, err := clients[0].List(ctx, &kubeconnectv1.ListRequest{Resource: request.Watches[i].GetResource(), Namespace: s.namespace, LabelSelector: request.Watches[i].GetLabelSelector(), Filter: request.Watches[i].GetFilter(), MinResourceVersion: last})
		if err != nil {
			t.Fatal(err)
		}
		got := statesOf(valuesOf(model))
		slices.Sort(got)
		want := statesOf(list.GetObjects())
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("watch %d holds %v, want %v", i, got, want)
		}
	}
}

func valuesOf(model validate.Model) (objects []*kubeconnectv1.Object) {
	for _, object := range model.Objects {
		objects = append(objects, object)
	}
	return objects
}
