package server

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// podHistory changes the pods of a fake API server at random, and keeps the pods of each version.
type podHistory struct {
	api *servertest.FakeAPI

	mu       sync.Mutex // guards the fields below
	version  int
	pods     map[string]*corev1.Pod
	versions map[string]map[string]*corev1.Pod
}

func newPodHistory(pods int) *podHistory {
	h := &podHistory{api: &servertest.FakeAPI{Events: make(chan any)}, version: 10, pods: make(map[string]*corev1.Pod), versions: make(map[string]map[string]*corev1.Pod)}
	for i := range pods {
		pod := randomPod(fmt.Sprint("pod-", i), 5)
		h.pods[pod.Name] = pod
		h.api.Objects = append(h.api.Objects, pod)
	}
	h.api.Version = "10"
	h.versions["10"] = maps.Clone(h.pods)
	return h
}

func randomPod(name string, version int) *corev1.Pod {
	pod := objecttest.Pod(name, version)
	pod.Spec.NodeName = fmt.Sprint("node-", rand.N(4))
	pod.Status.Message = fmt.Sprint(rand.N(3))
	return pod
}

// change makes a random change.
func (h *podHistory) change() {
	h.mu.Lock()
	h.version++
	pod := randomPod(fmt.Sprint("pod-", rand.N(30)), h.version)
	kind := "ADDED"
	switch _, exists := h.pods[pod.Name]; {
	case exists && rand.N(3) == 0:
		kind = "DELETED"
		delete(h.pods, pod.Name)
	case exists:
		kind = "MODIFIED"
		h.pods[pod.Name] = pod
	default:
		h.pods[pod.Name] = pod
	}
	h.versions[strconv.Itoa(h.version)] = maps.Clone(h.pods)
	h.mu.Unlock()
	h.api.Events <- servertest.WatchEvent{Type: kind, Object: pod}
}

// sorted returns the pods of a version by node, in descending order, and name.
func (h *podHistory) sorted(version string) []*corev1.Pod {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.SortedFunc(maps.Values(h.versions[version]), func(a, b *corev1.Pod) int {
		return cmp.Or(-cmp.Compare(a.Spec.NodeName, b.Spec.NodeName), cmp.Compare(a.Name, b.Name))
	})
}

// pageClient holds a page as a client does.
type pageClient struct {
	t      *testing.T
	held   []*kubeconnectv1.Object
	state  *kubeconnectv1.PageState
	token  string
	resets int
}

// apply applies the events of a response.
func (c *pageClient) apply(response *kubeconnectv1.WatchResponse) {
	c.t.Helper()
	for _, event := range response.GetEvents() {
		c.applyEvent(event)
	}
	if response.GetPage() != nil {
		c.state = response.GetPage()
	}
	if !isWaiting(response) {
		c.token = response.GetResumeToken()
	}
}

func (c *pageClient) applyEvent(event *kubeconnectv1.Event) {
	c.t.Helper()
	at := int(event.GetIndex())
	name := func(object *kubeconnectv1.Object) bool { return object.GetName() == event.GetObject().GetName() }
	switch event.GetType() {
	case kubeconnectv1.EventType_EVENT_TYPE_RESET:
		c.held = nil
		c.resets++
	case kubeconnectv1.EventType_EVENT_TYPE_ADDED:
		if slices.ContainsFunc(c.held, name) {
			c.t.Errorf("%v is added twice", event)
		}
		c.held = slices.Insert(c.held, at, event.GetObject())
	case kubeconnectv1.EventType_EVENT_TYPE_DELETED:
		c.held = slices.Delete(c.held, at, at+1)
	case kubeconnectv1.EventType_EVENT_TYPE_MODIFIED, kubeconnectv1.EventType_EVENT_TYPE_MOVED:
		from := slices.IndexFunc(c.held, name)
		object := c.held[from]
		if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_MODIFIED {
			object = event.GetObject()
		}
		c.held = slices.Insert(slices.Delete(c.held, from, from+1), at, object)
	}
}

// shown returns the names and the nodes of pods.
func (c *pageClient) shown() (pods []string) {
	for _, object := range c.held {
		node := object.GetStruct().GetFields()["spec"].GetStructValue().GetFields()["nodeName"].GetStringValue()
		pods = append(pods, object.GetName()+" "+node)
	}
	return pods
}

// check compares the page with the pods of its version.
func (c *pageClient) check(h *podHistory, request *kubeconnectv1.WatchRequest) {
	c.t.Helper()
	pods := h.sorted(c.state.GetResourceVersion())
	offset := min(int(request.GetOffset()), len(pods))
	if after := request.GetAfter(); after != nil {
		at := slices.IndexFunc(pods, func(pod *corev1.Pod) bool { return pod.Name == after.GetName() })
		if at < 0 {
			offset = int(c.state.GetOffset()) // its last place, which the model does not know
		} else {
			offset = at + 1
		}
	}
	var want []string
	for _, pod := range pods[offset:min(offset+int(request.GetLimit()), len(pods))] {
		want = append(want, pod.Name+" "+pod.Spec.NodeName)
	}
	if got := c.shown(); !slices.Equal(got, want) {
		c.t.Fatalf("at %v the page is\n%s\nwant\n%s", c.state, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if c.state.GetTotalCount() != int64(len(pods)) || c.state.GetOffset() != int64(offset) {
		c.t.Fatalf("the state is %v, want %d pods and %d before the page", c.state, len(pods), offset)
	}
}

// TestLivePage_IsThatOfItsVersion scrolls a page at random while the pods change, with and without
// masks, and compares it with the pods after each response.
func TestLivePage_IsThatOfItsVersion(t *testing.T) {
	for _, request := range []*kubeconnectv1.WatchRequest{
		{},
		{Fields: []string{"spec.nodeName"}},
		{Fields: []string{"spec.nodeName"}, PatchFormat: kubeconnectv1.PatchFormat_PATCH_FORMAT_UNSPECIFIED, LabelSelector: "!other"},
	} {
		h := newPodHistory(20)
		s := newService(t, h.api, auth.KubeconfigAuthenticator{})
		done := make(chan struct{})
		t.Cleanup(func() { <-done })
		stop := make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
					h.change()
				}
			}
		}()
		client := &pageClient{t: t}
		request.Resource, request.OrderBy = "pods", "spec.nodeName desc"
		for range 20 {
			client.follow(s, h, request, 1+rand.N(3))
		}
		close(stop)
		if client.resets != 1 {
			t.Errorf("%v was reset %d times", request, client.resets)
		}
	}
}

// follow follows another range for some responses with a state.
func (c *pageClient) follow(s *service, h *podHistory, selection *kubeconnectv1.WatchRequest, count int) {
	c.t.Helper()
	request := proto.CloneOf(selection)
	request.Limit, request.ResumeToken = int32(1+rand.N(12)), c.token
	if rand.N(2) == 0 || len(c.held) == 0 {
		request.Offset = int64(rand.N(25))
	} else {
		request.After = &kubeconnectv1.ObjectName{Namespace: "default", Name: c.held[rand.N(len(c.held))].GetName()}
	}
	stream, err := responses.Of(s.resources.Watch(c.t.Context(), request))
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	for count > 0 {
		response := receive(c.t, stream)
		if c.apply(response); response.GetPage() != nil {
			c.check(h, request)
			count--
		}
	}
}

func TestLivePage_ParametersAreChecked(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	after := &kubeconnectv1.ObjectName{Namespace: "default", Name: "a"}
	for says, request := range map[string]*kubeconnectv1.WatchRequest{
		"invalid limit -1":        {Limit: -1},
		"invalid limit 501":       {Limit: 501},
		"need a limit":            {OrderBy: "metadata.name"},
		"and after need a limit":  {After: after},
		"invalid offset -1":       {Limit: 1, Offset: -1},
		"offset and after":        {Limit: 1, Offset: 1, After: after},
		"after.name is required":  {Limit: 1, After: &kubeconnectv1.ObjectName{}},
		"several values":          {Limit: 1, OrderBy: "spec.containers[*].image"},
		"is an object":            {Limit: 1, OrderBy: "spec"},
		`pods "nosuch" not found`: {Limit: 1, After: &kubeconnectv1.ObjectName{Namespace: "default", Name: "nosuch"}},
		"invalid resume_token":    {Limit: 1, ResumeToken: "AQ"},
	} {
		request.Resource = "pods"
		stream, err := responses.Of(s.resources.Watch(t.Context(), request))
		if err != nil {
			t.Fatal(err)
		}
		for stream.Receive() {
		}
		code := connect.CodeOf(stream.Err())
		if !strings.Contains(fmt.Sprint(stream.Err()), says) || code != connect.CodeInvalidArgument && code != connect.CodeNotFound {
			t.Errorf("%v: %v, want %q", request, stream.Err(), says)
		}
		_ = stream.Close()
	}
}

// TestLivePage_TokensBelongToTheirSelection verifies that a page resumes with another range, and with
// nothing else that is different.
func TestLivePage_TokensBelongToTheirSelection(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	first := func(request *kubeconnectv1.WatchRequest) (*kubeconnectv1.WatchResponse, error) {
		request.Resource = "pods"
		stream, err := responses.Of(s.resources.Watch(t.Context(), request))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = stream.Close() }()
		for stream.Receive() {
			if !isWaiting(stream.Msg()) {
				return stream.Msg(), nil
			}
		}
		return nil, stream.Err()
	}
	page, err := first(&kubeconnectv1.WatchRequest{Limit: 1, OrderBy: "metadata.name desc"})
	if err != nil || eventsOf(page) != "RESET ADDED:b SYNCED" {
		t.Fatalf("the page begins with %v, %v", page, err)
	}
	for want, request := range map[string]*kubeconnectv1.WatchRequest{
		"BOOKMARK":                 {Limit: 1, OrderBy: "metadata.name desc"},
		"DELETED ADDED:a BOOKMARK": {Limit: 1, Offset: 1, OrderBy: "{.metadata.name} desc"},
		"ADDED:a BOOKMARK":         {Limit: 5, OrderBy: "metadata.name desc"},
		"DELETED BOOKMARK":         {Limit: 5, Offset: 7, OrderBy: "metadata.name desc"},
	} {
		request.ResumeToken = page.GetResumeToken()
		got, err := first(request)
		if err != nil || eventsOf(got) != want || got.GetPage() == nil {
			t.Errorf("%v continues with %v, %v; want %s", request, got, err, want)
		}
	}
	for _, request := range []*kubeconnectv1.WatchRequest{
		{Limit: 1},
		{Limit: 1, OrderBy: "metadata.name"},
		{},
		{Limit: 1, OrderBy: "metadata.name desc", LabelSelector: "a"},
		{Limit: 1, OrderBy: "metadata.name desc", Fields: []string{"spec"}},
	} {
		request.ResumeToken = page.GetResumeToken()
		if got, err := first(request); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%v continues with %v, %v", request, got, err)
		}
	}
}

// TestLivePage_LargeObjectsAreSentInSeveralBatches has a page of more bytes than a stream may retain.
func TestLivePage_LargeObjectsAreSentInSeveralBatches(t *testing.T) {
	api := &servertest.FakeAPI{Version: "10", Events: make(chan any)}
	for i := range 8 {
		pod := objecttest.Pod(fmt.Sprint("pod-", i), 5)
		pod.Annotations = map[string]string{"large": strings.Repeat("x", 400<<10)}
		api.Objects = append(api.Objects, pod)
	}
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	stream, err := responses.Of(s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods", Limit: 7, Offset: 1, Encoding: asJSON}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	client := &pageClient{t: t}
	var all []string
	for client.state == nil {
		response := receive(t, stream)
		client.apply(response)
		all = append(all, eventsOf(response))
		if (response.GetResumeToken() != "") != (response.GetPage() != nil) {
			t.Errorf("a response with the state %v has the token %q", response.GetPage(), response.GetResumeToken())
		}
	}
	want := "RESET ADDED:pod-1 ADDED:pod-2 ADDED:pod-3 ADDED:pod-4 ADDED:pod-5 ADDED:pod-6 ADDED:pod-7 SYNCED"
	if got := strings.Join(all, " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if client.state.GetTotalCount() != 8 || client.state.GetOffset() != 1 || client.state.GetResourceVersion() != "10" {
		t.Errorf("the state is %v", client.state)
	}
}

// TestLivePage_ABookmarkIsNotFollowedByItsVersion deletes objects behind the page at one version, as
// etcd does with objects that share a lease.
func TestLivePage_ABookmarkIsNotFollowedByItsVersion(t *testing.T) {
	api := &servertest.FakeAPI{Version: "10", Events: make(chan any)}
	for i, name := range []string{"a", "b", "c", "d"} {
		api.Objects = append(api.Objects, objecttest.Pod(name, i+1))
	}
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	stream, err := responses.Of(s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods", Limit: 1}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	// bookmarkWith reads until a state has the total and the version, and returns the last bookmark before.
	bookmarkWith := func(total int64, version string) (bookmark string) {
		for {
			response := receive(t, stream)
			for _, event := range response.GetEvents() {
				if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK {
					bookmark = event.GetResourceVersion()
				}
			}
			if state := response.GetPage(); state.GetTotalCount() == total {
				if state.GetResourceVersion() != version {
					t.Errorf("the state is %v, want version %s", state, version)
				}
				return bookmark
			}
		}
	}
	bookmarkWith(4, "10")
	for _, step := range []struct {
		event             servertest.WatchEvent
		total             int64
		version, bookmark string
	}{
		{servertest.Deleted(objecttest.Pod("b", 12)), 3, "12", "10"},
		{servertest.Deleted(objecttest.Pod("c", 12)), 2, "12", "10"},
		{servertest.Added(objecttest.Pod("e", 13)), 3, "13", "13"},
	} {
		api.Events <- step.event
		if bookmark := bookmarkWith(step.total, step.version); bookmark != step.bookmark {
			t.Errorf("after %s at version %s the bookmark has version %q, want %q", step.event.Type, step.version, bookmark, step.bookmark)
		}
	}
}
