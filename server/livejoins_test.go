package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
	"github.com/kubeconnect/kubeconnect/server/joins"
)

// liveJoinedAPI returns an API server like joinedAPI, which sends events of each resource.
func liveJoinedAPI() *fakeAPI {
	api := joinedAPI()
	api.eventsOf = make(map[string]chan any)
	for resource := range api.of {
		api.eventsOf[resource] = make(chan any)
	}
	return api
}

// liveJoined is a client of a page with joins.
type liveJoined struct {
	pageClient
	stream *connect.ServerStreamForClient[kubeconnectv1.WatchResponse]
	last   []string // the events of the last response, in a short form
}

func watchJoined(t *testing.T, s *service, request *kubeconnectv1.WatchRequest) *liveJoined {
	t.Helper()
	stream, err := s.resources.Watch(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	return &liveJoined{pageClient: pageClient{t: t}, stream: stream}
}

// until receives until the objects and their results are the wanted ones.
func (c *liveJoined) until(want string) {
	c.t.Helper()
	for {
		response := receive(c.t, c.stream)
		c.apply(response)
		c.last = append(c.last, response.GetWarnings()...)
		for _, event := range response.GetEvents() {
			if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_MODIFIED {
				c.last = append(c.last, fmt.Sprint(event.GetObject().GetName(), " modified ", event.GetPatchFormat()))
			}
		}
		if c.results() == want {
			return
		}
	}
}

// results returns the objects of the page with the results of their joins.
func (c *liveJoined) results() string {
	return strings.ReplaceAll(joinedText(c.t, &kubeconnectv1.ListResponse{Objects: c.held}), "\n", ", ")
}

func podsWithNodes(limit int32) *kubeconnectv1.WatchRequest {
	return &kubeconnectv1.WatchRequest{Resource: "pods", Limit: limit, Encoding: asJSON, Fields: []string{"metadata.name"}, Joins: []*kubeconnectv1.Join{
		{Name: "j", Type: namedBy, Resource: "nodes", Path: "spec.nodeName", Fields: []string{"metadata.labels.type"}}}}
}

// labelled returns the node of joinedAPI with another label.
func labelled(label string, version int) *corev1.Node {
	node := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: meta("", "n1")}
	node.Labels, node.ResourceVersion = map[string]string{"type": label}, fmt.Sprint(version)
	return node
}

func nodeType(label string) string {
	return fmt.Sprintf(`j=1 n1{"metadata":{"labels":{"type":%q}}}`, label)
}

// TestLiveJoins_RowsFollowRelatedObjects changes, deletes and creates a node, and moves a pod.
func TestLiveJoins_RowsFollowRelatedObjects(t *testing.T) {
	api := liveJoinedAPI()
	c := watchJoined(t, newService(t, api, auth.KubeconfigAuthenticator{}), podsWithNodes(2))
	c.until("web-1 " + nodeType("large") + ", web-2 j=0")
	api.eventsOf["nodes"] <- watchEvent{"MODIFIED", labelled("small", 20)}
	c.until("web-1 " + nodeType("small") + ", web-2 j=0")
	api.eventsOf["nodes"] <- watchEvent{"DELETED", labelled("small", 21)}
	c.until("web-1 j=0, web-2 j=0")
	api.eventsOf["nodes"] <- watchEvent{"ADDED", labelled("other", 22)}
	c.until("web-1 " + nodeType("other") + ", web-2 j=0")
	moved := joinedPod("a", "web-2", "n1", "")
	moved.ResourceVersion = "23"
	api.eventsOf["pods"] <- watchEvent{"MODIFIED", moved}
	c.until("web-1 " + nodeType("other") + ", web-2 " + nodeType("other"))
	if c.resets != 1 {
		t.Errorf("the stream was reset %d times", c.resets)
	}
	for _, event := range c.last[:3] {
		if event != "web-1 modified PATCH_FORMAT_UNSPECIFIED" {
			t.Errorf("the events are %q", c.last)
		}
	}
}

// TestLiveJoins_ResumeWithWhatHasChanged resumes after a node has changed.
func TestLiveJoins_ResumeWithWhatHasChanged(t *testing.T) {
	api := liveJoinedAPI()
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	request := podsWithNodes(3)
	first := watchJoined(t, s, request)
	first.until("web-1 " + nodeType("large") + ", web-2 j=0, alone " + nodeType("large"))
	second := watchJoined(t, s, request)
	second.until(first.results())
	request.ResumeToken = first.token
	_ = first.stream.Close()
	api.eventsOf["nodes"] <- watchEvent{"MODIFIED", labelled("small", 20)}
	second.until("web-1 " + nodeType("small") + ", web-2 j=0, alone " + nodeType("small"))

	resumed := watchJoined(t, s, request)
	resumed.held = first.held
	resumed.until(second.results())
	if got := strings.Join(resumed.last, ", "); resumed.resets != 0 || got != "web-1 modified PATCH_FORMAT_UNSPECIFIED, alone modified PATCH_FORMAT_UNSPECIFIED" {
		t.Errorf("it was reset %d times, and received %s", resumed.resets, got)
	}
	request.Joins[0].Fields = nil
	if err := watchError(t.Context(), s, request); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("with another join it resumes: %v", err)
	}
}

// TestLiveJoins_PatchesAreOfTheObjectOnly watches patches while only a related object changes.
func TestLiveJoins_PatchesAreOfTheObjectOnly(t *testing.T) {
	api := liveJoinedAPI()
	request := podsWithNodes(1)
	request.Fields, request.PatchFormat = nil, kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE
	stream, err := newService(t, api, auth.KubeconfigAuthenticator{}).resources.Watch(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	for sent := false; ; {
		response := receive(t, stream)
		for _, event := range response.GetEvents() {
			switch event.GetType() {
			case kubeconnectv1.EventType_EVENT_TYPE_SYNCED:
				if !sent {
					sent = true
					api.eventsOf["nodes"] <- watchEvent{"MODIFIED", labelled("small", 20)}
				}
			case kubeconnectv1.EventType_EVENT_TYPE_MODIFIED:
				if event.GetPatchFormat() != request.PatchFormat || string(event.GetObject().GetJson()) != "{}" ||
					!strings.Contains(fmt.Sprint(event.GetObject().GetJoined()), "small") {
					t.Errorf("received %v", event)
				}
				return
			}
		}
	}
}

// TestLiveJoins_FollowPermissions grants and revokes the permission for the related resource.
func TestLiveJoins_FollowPermissions(t *testing.T) {
	all := auth.Namespaces{All: true}
	rights := newFakeRights(auth.Namespaces{})
	rights.of = map[string]auth.Namespaces{"pods": all}
	c := watchJoined(t, withRights(t, liveJoinedAPI(), rights), podsWithNodes(1))
	c.until("web-1 j=0 not permitted")
	rights.change(func() { rights.of = map[string]auth.Namespaces{"pods": all, "nodes": all} })
	c.until("web-1 " + nodeType("large"))
	rights.change(func() { rights.of = map[string]auth.Namespaces{"pods": all} })
	c.until("web-1 j=0 not permitted")
	if !strings.Contains(strings.Join(c.last, "\n"), `join "j": some results are not permitted: you may not list nodes`) {
		t.Errorf("received %q", c.last)
	}
}

// TestLiveJoins_OwnersAreFollowed watches pods with their deployment, whose replica set is deleted
// and recreated.
func TestLiveJoins_OwnersAreFollowed(t *testing.T) {
	api := liveJoinedAPI()
	set := api.of["replicasets"][0]
	c := watchJoined(t, newService(t, api, auth.KubeconfigAuthenticator{}), &kubeconnectv1.WatchRequest{
		Resource: "pods", Limit: 3, Encoding: asJSON, Joins: []*kubeconnectv1.Join{{Name: "j", Type: ownerOf, Resource: "deployments"}}})
	c.until("web-1 j=1, web-2 j=1, alone j=0")
	api.eventsOf["replicasets"] <- watchEvent{"DELETED", set}
	c.until("web-1 j=0, web-2 j=0, alone j=0")
	api.eventsOf["replicasets"] <- watchEvent{"ADDED", set}
	c.until("web-1 j=1, web-2 j=1, alone j=0")
}

// TestLiveJoins_NamesSurviveChangesOfARow changes a row more often than indexes fit into the memory of
// one computation.
func TestLiveJoins_NamesSurviveChangesOfARow(t *testing.T) {
	api := liveJoinedAPI()
	c := watchJoined(t, newService(t, api, auth.KubeconfigAuthenticator{}), &kubeconnectv1.WatchRequest{
		Resource: "nodes", Limit: 5, Encoding: asJSON, Fields: []string{"metadata.labels"},
		Joins: []*kubeconnectv1.Join{{Name: "j", Type: names, Resource: "pods", Path: "spec.nodeName"}}})
	c.until("n1 j=2")
	for i := range maxLiveIndexBytes>>20 + 2 {
		api.eventsOf["nodes"] <- watchEvent{"MODIFIED", labelled(fmt.Sprint("label-", i), 20+i)}
		for len(receive(t, c.stream).GetEvents()) == 0 {
		}
	}
}

// TestLiveJoins_RestBetweenChanges joins a changed object before the end of the rest.
func TestLiveJoins_RestBetweenChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		l := &liveJoins{restUntil: began.Add(joinInterval)}
		if err := l.rest(t.Context()); err != nil || time.Since(began) != joinInterval {
			t.Errorf("it rested %v: %v", time.Since(began), err)
		}
		if err := l.rest(t.Context()); err != nil || time.Since(began) != joinInterval {
			t.Errorf("it rested again, until %v: %v", time.Since(began), err)
		}
		l.restUntil = time.Now().Add(joinInterval)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.rest(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("at the end of the call it returned %v", err)
		}
	})
}

// newTestJoins returns joins of a caller's page that are due. The page has one join, of objects without owners.
func newTestJoins(turns *fairqueue.Queue, kept *ledger.Ledger, caller string) *liveJoins {
	l := &liveJoins{
		turns: turns, account: kept.Account(caller, caller), lease: &accessLease{caller: edge.Caller{Identity: auth.Identity{Username: caller}}},
		relater: &relater{}, page: joins.NewPage([]joins.Join{{Name: "j", Relation: joins.OwnerOf{}}}, nil),
		isChanged: true, checkAt: time.Now().Add(time.Hour),
	}
	l.unsent, _ = l.account.Charge(0)
	return l
}

// TestLiveJoins_WaitingIsNotComputing waits long for a turn: the next look does not wait for a multiple of that.
func TestLiveJoins_WaitingIsNotComputing(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		turns, kept := newJoinTurns(edge.Limits{Streams: 1}), ledger.New(ledger.Limits{Total: 1 << 30})
		endTurn, err := turns.Acquire(t.Context(), edge.CallerKey(auth.Identity{Username: "jane"}), 1)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, endTurn)
		joined := newTestJoins(turns, kept, "jane")
		objects := []*informerhub.Object{objecttest.WidgetObject(t, objecttest.WidgetText)}
		if _, err := joined.results(t.Context(), objects, nil); err != nil {
			t.Fatal(err)
		}
		if all, err := joined.isDue(t.Context()); !all || err != nil {
			t.Errorf("before the results are in a batch, all objects are joined again: %t, %v", all, err)
		}
		joined.settle()
		if all, err := joined.isDue(t.Context()); all || err != nil {
			t.Errorf("after it, all objects are joined again: %t, %v", all, err)
		}
		if next := time.Until(joined.checkAt); next != joinInterval {
			t.Errorf("the related objects are compared next after %v, want %v", next, joinInterval)
		}
	})
}

// TestLiveJoins_AreComputedInTurn computes the joins of two pages of one caller, and of one of another, while
// another page of the first caller has its turn.
func TestLiveJoins_AreComputedInTurn(t *testing.T) {
	objects := []*informerhub.Object{objecttest.WidgetObject(t, objecttest.WidgetText)}
	faketime.Test(t, func(t *testing.T) {
		turns, kept := newJoinTurns(edge.Limits{Streams: 1}), ledger.New(ledger.Limits{Total: 1 << 30})
		endTurn, err := turns.Acquire(t.Context(), edge.CallerKey(auth.Identity{Username: "jane"}), 1)
		if err != nil {
			t.Fatal(err)
		}
		computed := make(chan string, 3)
		for _, caller := range []string{"jane", "jane", "joe"} {
			go func() {
				if _, err := newTestJoins(turns, kept, caller).results(t.Context(), objects, nil); err != nil {
					t.Error(err)
				}
				computed <- caller
			}()
		}
		synctest.Wait()
		if caller := <-computed; caller != "joe" || len(computed) > 0 || kept.Kept()["jane"] > 0 {
			t.Errorf("%s's page is computed, and %d others; %v is kept", caller, len(computed), kept.Kept())
		}
		endTurn()
		synctest.Wait()
		if len(computed) != 2 {
			t.Errorf("then %d pages are computed, want 2", len(computed))
		}
	})
}

// TestLiveJoins_ResultsAreChargedUntilTheyAreSent has results of a known size.
func TestLiveJoins_ResultsAreChargedUntilTheyAreSent(t *testing.T) {
	kept := ledger.New(ledger.Limits{Total: 1 << 30})
	page := &livePage{joined: newTestJoins(newJoinTurns(edge.Limits{}), kept, "jane")}
	results, err := page.joined.results(t.Context(), []*informerhub.Object{objecttest.WidgetObject(t, objecttest.WidgetText)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := kept.Kept()["jane"]; got == 0 || got != len(results[0].message) {
		t.Errorf("%d bytes are charged for %q", got, results)
	}
	page.release()
	if got := kept.Kept(); len(got) > 0 {
		t.Errorf("after the results were sent, %v is charged", got)
	}
}

// TestLiveJoins_IndexesAreCharged has less memory than the first part of an index.
func TestLiveJoins_IndexesAreCharged(t *testing.T) {
	s, _, charged := keptService(t, 4<<20)
	request := &kubeconnectv1.WatchRequest{Resource: "nodes", Limit: 5, Joins: []*kubeconnectv1.Join{{Name: "j", Type: names, Resource: "pods", Path: "spec.nodeName"}}}
	statustest.WantOverLimit(t, watchError(t.Context(), s, request), "too much memory is kept")
	for charged() > 0 { // the handler returns soon after its client has the error
		runtime.Gosched()
	}
}

// TestLiveJoins_InterruptedChangesAreRepeated interrupts the first computation after the joins have
// come to read something else.
func TestLiveJoins_InterruptedChangesAreRepeated(t *testing.T) {
	object := objecttest.WidgetObject(t, objecttest.WidgetText)
	held := []heldObject{heldOf(object, joinedResult{hash: "before"})}
	l := newTestJoins(newJoinTurns(edge.Limits{}), nil, "jane")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.results(ended, []*informerhub.Object{object}, held); !errors.Is(err, context.Canceled) {
		t.Fatalf("the computation was not interrupted: %v", err)
	}
	for range 2 {
		results, err := l.results(t.Context(), []*informerhub.Object{object}, held)
		if err != nil || results[0].hash == "before" {
			t.Fatalf("the object was not joined again: %q, %v", results, err)
		}
		held[0].joined = results[0]
	}
	l.settle()
	if l.isChanged {
		t.Error("the objects are joined again and again")
	}
}

// TestLiveJoins_KindsOfOwnersAreBounded joins objects with owners of many kinds that are not served.
func TestLiveJoins_KindsOfOwnersAreBounded(t *testing.T) {
	r, page := &relater{}, joins.NewPage(nil, nil)
	for i := range 2 * maxKnownKinds {
		kind := schema.GroupKind{Kind: fmt.Sprint("Kind", i)}
		for _, kind := range r.boundKinds([]schema.GroupKind{kind}, len(page.Followed())) {
			page.Follow(kind, nil)
		}
	}
	if known := len(page.Followed()); known != maxKnownKinds || len(r.warnings) != 1 {
		t.Errorf("%d kinds are known, and the warnings are %q", known, r.warnings)
	}
}

// TestLiveJoins_KindsOfOwnersAreLookedUpOnce resolves the joins of a page again, whose objects have an
// owner of a kind that the cluster does not serve.
func TestLiveJoins_KindsOfOwnersAreLookedUpOnce(t *testing.T) {
	var discoveries atomic.Int32
	api := joinedAPI()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/apis" {
			discoveries.Add(1)
		}
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(upstream.Close)
	hub, err := informerhub.New(&rest.Config{Host: upstream.URL}, informerhub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	l := &liveJoins{relater: &relater{hub: hub, targets: newCluster(hub)}, page: joins.NewPage(nil, nil), forgetAt: time.Now().Add(time.Hour)}
	follow := func(relater *relater, follow func(*joins.Page) error) int32 {
		before, page := discoveries.Load(), joins.NewPage(nil, nil)
		if err := follow(page); err != nil || len(page.Followed()) != 1 {
			t.Fatalf("%v are followed: %v", page.Followed(), err)
		}
		l.relater, l.page = relater, page
		return discoveries.Load() - before
	}
	if read := follow(l.relater, func(page *joins.Page) error {
		return l.relater.follow(t.Context(), page, []schema.GroupKind{{Group: "example.com", Kind: "Gone"}})
	}); read == 0 {
		t.Error("an unknown kind was not looked up")
	}
	for range 3 {
		next := &relater{hub: hub, targets: l.relater.targets}
		if read := follow(next, func(page *joins.Page) error { return l.followKnown(t.Context(), next, page) }); read != 0 {
			t.Errorf("discovery was read %d times again", read)
		}
	}
	l.forgetAt = time.Time{}
	next, page := &relater{}, joins.NewPage(nil, nil)
	if err := l.followKnown(t.Context(), next, page); err != nil || len(page.Followed())+len(next.unserved) != 0 {
		t.Errorf("after the interval %v are followed, and %v are not served: %v", page.Followed(), next.unserved, err)
	}
}

func TestLiveJoins_InvalidOnesAreRejected(t *testing.T) {
	s := newService(t, joinedAPI(), auth.KubeconfigAuthenticator{})
	for want, change := range map[string]func(*kubeconnectv1.WatchRequest){
		"joins need a limit in a watch":      func(r *kubeconnectv1.WatchRequest) { r.Limit = 0 },
		`two joins with the name "j"`:        func(r *kubeconnectv1.WatchRequest) { r.Joins = append(r.Joins, r.Joins[0]) },
		`join "j": the cluster serves no`:    func(r *kubeconnectv1.WatchRequest) { r.Joins[0].Resource = "unknowns" },
		`join "j": type SUBJECT_OF is for e`: func(r *kubeconnectv1.WatchRequest) { r.Joins[0].Type, r.Joins[0].Path = subjectOf, "" },
	} {
		request := podsWithNodes(1)
		change(request)
		if err := watchError(t.Context(), s, request); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("returned %v, want %s", err, want)
		}
	}
}

// TestLiveJoins_TooManyRelatedObjectsEndTheStream watches a page with large related objects.
func TestLiveJoins_TooManyRelatedObjectsEndTheStream(t *testing.T) {
	api := liveJoinedAPI()
	for i := range 100 {
		pod := joinedPod("a", fmt.Sprint("large-", i), "n1", "")
		pod.Annotations = map[string]string{"large": strings.Repeat("x", 60<<10)}
		api.of["pods"] = append(api.of["pods"], pod)
	}
	request := podsWithNodes(500)
	request.Joins = []*kubeconnectv1.Join{{Name: "j", Type: namedBy, Resource: "pods", Path: "metadata.name", Fields: []string{"metadata.annotations"}}}
	err := watchError(t.Context(), newService(t, api, auth.KubeconfigAuthenticator{}), request)
	if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "too large related objects") {
		t.Errorf("returned %v", err)
	}
}
