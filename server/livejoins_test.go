package server

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

// liveJoinedAPI returns an API server like joinedAPI, which sends events of each resource.
func liveJoinedAPI() *servertest.FakeAPI {
	api := joinedAPI()
	api.EventsOf = make(map[string]chan any)
	for resource := range api.Of {
		api.EventsOf[resource] = make(chan any)
	}
	return api
}

// liveJoined is a client of a page with joins.
type liveJoined struct {
	pageClient
	stream *responses.Stream[kubeconnectv1.WatchResponse]
	last   []string // the events of the last response, in a short form
}

func watchJoined(t *testing.T, s *service, request *kubeconnectv1.WatchRequest) *liveJoined {
	t.Helper()
	stream, err := responses.Of(s.resources.Watch(t.Context(), request))
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
	t.Parallel()
	api := liveJoinedAPI()
	c := watchJoined(t, newService(t, api, auth.KubeconfigAuthenticator{}), podsWithNodes(2))
	c.until("web-1 " + nodeType("large") + ", web-2 j=0")
	api.EventsOf["nodes"] <- servertest.Modified(labelled("small", 20))
	c.until("web-1 " + nodeType("small") + ", web-2 j=0")
	api.EventsOf["nodes"] <- servertest.Deleted(labelled("small", 21))
	c.until("web-1 j=0, web-2 j=0")
	api.EventsOf["nodes"] <- servertest.Added(labelled("other", 22))
	c.until("web-1 " + nodeType("other") + ", web-2 j=0")
	moved := joinedPod("a", "web-2", "n1", "")
	moved.ResourceVersion = "23"
	api.EventsOf["pods"] <- servertest.Modified(moved)
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
	api.EventsOf["nodes"] <- servertest.Modified(labelled("small", 20))
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
	stream, err := responses.Of(newService(t, api, auth.KubeconfigAuthenticator{}).resources.Watch(t.Context(), request))
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
					api.EventsOf["nodes"] <- servertest.Modified(labelled("small", 20))
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
	rights := servertest.NewFakeRights(auth.Namespaces{})
	rights.Of = map[string]auth.Namespaces{"pods": all}
	c := watchJoined(t, withRights(t, liveJoinedAPI(), rights), podsWithNodes(1))
	c.until("web-1 j=0 not permitted")
	rights.Change(func() { rights.Of = map[string]auth.Namespaces{"pods": all, "nodes": all} })
	c.until("web-1 " + nodeType("large"))
	rights.Change(func() { rights.Of = map[string]auth.Namespaces{"pods": all} })
	c.until("web-1 j=0 not permitted")
	if !strings.Contains(strings.Join(c.last, "\n"), `join "j": some results are not permitted: you may not list nodes`) {
		t.Errorf("received %q", c.last)
	}
}

// TestLiveJoins_OwnersAreFollowed watches pods with their deployment, whose replica set is deleted
// and recreated.
func TestLiveJoins_OwnersAreFollowed(t *testing.T) {
	t.Parallel()
	api := liveJoinedAPI()
	set := api.Of["replicasets"][0]
	c := watchJoined(t, newService(t, api, auth.KubeconfigAuthenticator{}), &kubeconnectv1.WatchRequest{
		Resource: "pods", Limit: 3, Encoding: asJSON, Joins: []*kubeconnectv1.Join{{Name: "j", Type: ownerOf, Resource: "deployments"}}})
	c.until("web-1 j=1, web-2 j=1, alone j=0")
	api.EventsOf["replicasets"] <- servertest.Deleted(set)
	c.until("web-1 j=0, web-2 j=0, alone j=0")
	api.EventsOf["replicasets"] <- servertest.Added(set)
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
	for i := range 18 {
		api.EventsOf["nodes"] <- servertest.Modified(labelled(fmt.Sprint("label-", i), 20+i))
		for len(receive(t, c.stream).GetEvents()) == 0 {
		}
	}
}

// TestLiveJoins_IndexesAreCharged has less memory than the first part of an index.
func TestLiveJoins_IndexesAreCharged(t *testing.T) {
	t.Parallel()
	s, _, charged := keptService(t, 4<<20)
	request := &kubeconnectv1.WatchRequest{Resource: "nodes", Limit: 5, Joins: []*kubeconnectv1.Join{{Name: "j", Type: names, Resource: "pods", Path: "spec.nodeName"}}}
	statustest.WantOverLimit(t, watchError(t.Context(), s, request), "too much memory is kept")
	for charged() > 0 { // the handler returns soon after its client has the error
		runtime.Gosched()
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
		api.Of["pods"] = append(api.Of["pods"], pod)
	}
	request := podsWithNodes(500)
	request.Joins = []*kubeconnectv1.Join{{Name: "j", Type: namedBy, Resource: "pods", Path: "metadata.name", Fields: []string{"metadata.annotations"}}}
	err := watchError(t.Context(), newService(t, api, auth.KubeconfigAuthenticator{}), request)
	if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "too large related objects") {
		t.Errorf("returned %v", err)
	}
}
