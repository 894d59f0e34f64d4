package informerhub

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
	"github.com/kubeconnect/kubeconnect/internal/testobjects"
)

func typedPod(name, version string) *corev1.Pod {
	return testobjects.NewPod(traits{Namespace: "default", Name: name, UID: "uid-" + name, Version: version})
}

// bookmarkAt returns the bookmark that ends the initial events of a watch-list.
func bookmarkAt(version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: version, Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}
}

var (
	noWatchList = apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil).ErrStatus
	notFound    = apierrors.NewNotFound(pods.GroupResource(), "").ErrStatus
	expired     = apierrors.NewResourceExpired("too old resource version").ErrStatus
)

// syncedHub returns a hub whose cache of pods has the pod a at version 10, read by watch-list, and
// the watch that follows.
func syncedHub(t *testing.T, api *fakeapi.Server) (*Hub, *scopeCache, *fakeapi.Call) {
	t.Helper()
	hub := hubOf(t, api.Config())
	answered := ask(t.Context(), hub, pods)
	upstream := api.Next(t, "watch-list").Open().
		Send(t, watch.Added, typedPod("a", "3")).
		Send(t, watch.Bookmark, bookmarkAt("10"))
	got := <-answered
	if got.err != nil {
		t.Fatal(got.err)
	}
	return hub, got.cache, upstream
}

func expect(t *testing.T, w *scopeWatcher, want ...string) {
	t.Helper()
	var got []string
	for len(got) < len(want) {
		got = append(got, nextLines(t, w)...)
	}
	checkSame(t, want, got)
}

func longWatch(t *testing.T, c *scopeCache) *scopeWatcher {
	t.Helper()
	return c.watch(selectFrom(t, c, Query{}), WatchOptions{Bookmarks: time.Hour})
}

func TestHub_CallersShareOneWatch(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	hub := hubOf(t, api.Config())
	var waiting []<-chan asking
	for range 100 {
		waiting = append(waiting, ask(t.Context(), hub, pods))
	}
	upstream := api.Next(t, "watch-list").Open().Send(t, watch.Added, typedPod("a", "3")).Send(t, watch.Bookmark, bookmarkAt("10"))
	first := <-waiting[0]
	for _, answered := range waiting[1:] {
		if got := <-answered; got.err != nil || got.cache != first.cache {
			t.Errorf("got cache %p, %v; the first caller got %p, %v", got.cache, got.err, first.cache, first.err)
		}
	}
	// A second watch would wait for its response here, and this event with it.
	w := longWatch(t, first.cache)
	expect(t, w, "RESET at 10", "ADDED default/a@3 at 3", "SYNCED at 10")
	upstream.Send(t, watch.Modified, typedPod("a", "11"))
	expect(t, w, "MODIFIED default/a@11 at 11")
	if call := api.Pending(); call != nil {
		t.Errorf("another call: %s", call.Request.URL)
	}
}

func TestHub_ListsIfTheAPIServerHasNoWatchList(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	hub := hubOf(t, api.Config())
	answered := ask(t.Context(), hub, pods)
	api.Next(t, "watch-list").Refuse(noWatchList)
	api.Next(t, "list").List(t, &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "10"}, Items: []corev1.Pod{*typedPod("a", "3")}})
	got := <-answered
	if got.err != nil {
		t.Fatal(got.err)
	}
	w := longWatch(t, got.cache)
	expect(t, w, "RESET at 10", "ADDED default/a@3 at 3", "SYNCED at 10")
	upstream := api.Next(t, "watch")
	if version := upstream.Query().Get("resourceVersion"); version != "10" {
		t.Errorf("watches from %q, want the version of the list", version)
	}
	upstream.Open().Send(t, watch.Added, typedPod("b", "11"))
	expect(t, w, "ADDED default/b@11 at 11")
}

func TestHub_JoinsThePagesOfAList(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	hub := hubOf(t, api.Config())
	answered := ask(t.Context(), hub, pods)
	api.Next(t, "watch-list").Refuse(noWatchList)
	api.Next(t, "list").List(t, &corev1.PodList{
		ListMeta: metav1.ListMeta{ResourceVersion: "10", Continue: "more"}, Items: []corev1.Pod{*typedPod("a", "3")}})
	second := api.Next(t, "list")
	if token := second.Query().Get("continue"); token != "more" {
		t.Errorf("the second page has the token %q", token)
	}
	second.List(t, &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "10"}, Items: []corev1.Pod{*typedPod("b", "4")}})
	got := <-answered
	if got.err != nil {
		t.Fatal(got.err)
	}
	checkSame(t, []string{"default/a", "default/b"}, names(listOf(t, got.cache, selectFrom(t, got.cache, Query{})).Objects))
}

func TestHub_ResumesAWatchFromItsLastVersion(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	_, cache, upstream := syncedHub(t, api)
	w := longWatch(t, cache)
	expect(t, w, "RESET at 10", "ADDED default/a@3 at 3", "SYNCED at 10")
	upstream.Send(t, watch.Modified, typedPod("a", "12"))
	expect(t, w, "MODIFIED default/a@12 at 12")
	upstream.End()
	again := api.Next(t, "watch")
	if version := again.Query().Get("resourceVersion"); version != "12" {
		t.Errorf("the next watch is from %q", version)
	}
	again.Open().Send(t, watch.Deleted, typedPod("a", "13"))
	expect(t, w, "DELETED default/a@12 at 13")
}

func TestHub_RelistAfterA410DeliversMissedChanges(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	_, cache, upstream := syncedHub(t, api)
	w := longWatch(t, cache)
	expect(t, w, "RESET at 10", "ADDED default/a@3 at 3", "SYNCED at 10")
	upstream.Send(t, watch.Error, &expired)
	upstream.End()
	api.Next(t, "watch-list").Open().
		Send(t, watch.Added, typedPod("c", "17")).
		Send(t, watch.Added, typedPod("b", "15")).
		Send(t, watch.Bookmark, bookmarkAt("20"))
	expect(t, w, "ADDED default/b@15 at 15", "ADDED default/c@17 at 17", "DELETED default/a@3 at 20")
}

func TestHub_IncompleteWatchListIsNoSnapshot(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	hub := hubOf(t, api.Config())
	answered := ask(t.Context(), hub, pods)
	api.Next(t, "watch-list").Open().Send(t, watch.Added, typedPod("a", "3")).End()
	api.Next(t, "watch-list").Open().Send(t, watch.Added, typedPod("b", "4")).Send(t, watch.Bookmark, bookmarkAt("10"))
	got := <-answered
	if got.err != nil {
		t.Fatal(got.err)
	}
	checkSame(t, []string{"default/b"}, names(listOf(t, got.cache, selectFrom(t, got.cache, Query{})).Objects))
}

// TestHub_AcceptsManagedFieldsOnlyIfTheyAreKept looks at what a cache requests, and at what a reader of the latest state requests.
func TestHub_AcceptsManagedFieldsOnlyIfTheyAreKept(t *testing.T) {
	for name, test := range map[string]struct {
		keep bool
		want string // of what a client accepts
	}{
		"kept":    {true, "application/vnd.kubernetes.protobuf,application/json"},
		"dropped": {false, "application/vnd.kubernetes.protobuf;drop=metadata.managedFields,application/json;drop=metadata.managedFields"},
	} {
		t.Run(name, func(t *testing.T) {
			api := fakeapi.New(t, fakeapi.Core)
			hub, err := New(api.Config(), Options{KeepManagedFields: test.keep})
			must(t, err)
			defer hub.Close()
			ask(t.Context(), hub, pods)
			watched := api.Next(t, "watch-list")
			live, err := hub.Live(pods, http.DefaultClient)
			must(t, err)
			go func() { _, _, _ = live.List(t.Context(), Query{}, 1000) }()
			listed := api.Next(t, "list")
			for _, request := range []*http.Request{watched.Request, listed.Request} {
				if got := request.Header.Get("Accept"); got != test.want {
					t.Errorf("%s accepts %q, want %q", request.URL, got, test.want)
				}
			}
			listed.List(t, page("7", ""))
		})
	}
}

func TestHub_WatchesCustomResourcesAsJSON(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core, fakeapi.Widgets)
	hub := hubOf(t, api.Config())
	answered := ask(t.Context(), hub, widgets)
	upstream := api.Next(t, "watch-list")
	if upstream.WantsProtobuf() || upstream.Request.URL.Path != "/apis/example.com/v1/widgets" {
		t.Errorf("requested %s as %q", upstream.Request.URL.Path, upstream.Request.Header.Get("Accept"))
	}
	upstream.Open().Send(t, watch.Added, widget("a", "3", nil)).
		Send(t, watch.Bookmark, widget("", "10", map[string]string{metav1.InitialEventsAnnotationKey: "true"}))
	got := <-answered
	if got.err != nil {
		t.Fatal(got.err)
	}
	expect(t, longWatch(t, got.cache), "RESET at 10", "ADDED default/a@3 at 3", "SYNCED at 10")
}

func widget(name, version string, annotations map[string]string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(widgetKind())
	object.SetNamespace("default")
	object.SetName(name)
	object.SetResourceVersion(version)
	object.SetAnnotations(annotations)
	if name != "" {
		object.SetUID("u")
	}
	return object
}

func TestHub_ReturnsTheErrorOfADeniedList(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	hub := hubOf(t, api.Config())
	answered := ask(t.Context(), hub, pods)
	forbidden := apierrors.NewForbidden(pods.GroupResource(), "", errors.New("no")).ErrStatus
	api.Next(t, "watch-list").Refuse(forbidden)
	api.Next(t, "list").Refuse(forbidden)
	if got := <-answered; !apierrors.IsForbidden(got.err) {
		t.Errorf("error %v", got.err)
	}
}

func TestHub_NamesAnUnreachableAPIServerAndRecovers(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	var up atomic.Bool
	config := api.Config()
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if !up.Load() {
			return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	hub := hubOf(t, config)
	_, err := hub.Cache(t.Context(), pods)
	var unavailable *discovery.UnavailableError
	if !errors.As(err, &unavailable) || "http://"+unavailable.Host != api.Config().Host {
		t.Fatalf("error %v", err)
	}
	if err := hub.Resolver().Ping(t.Context()); !errors.As(err, &unavailable) {
		t.Errorf("reached: %v", err)
	}
	up.Store(true)
	if err := hub.Resolver().Ping(t.Context()); err != nil {
		t.Errorf("reached: %v", err)
	}
	api.Next(t, "watch-list").Open().Send(t, watch.Bookmark, bookmarkAt("10"))
	for { // until the cache has received it
		_, err := hub.Cache(t.Context(), pods)
		if err == nil {
			return
		}
		if !errors.As(err, &unavailable) {
			t.Fatal(err)
		}
	}
}

func TestHub_ServesReadsAfterTheWatchIsLost(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	hub, _, upstream := syncedHub(t, api)
	upstream.End()
	api.Next(t, "watch-list").Refuse(apierrors.NewTooManyRequests("later", 0).ErrStatus)
	cache, err := hub.Cache(t.Context(), pods)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cache.Get("default", "a"); err != nil {
		t.Error(err)
	}
}

func TestHub_EndsCacheWhenItsResourceIsNoLongerServed(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	hub, cache, upstream := syncedHub(t, api)
	w := longWatch(t, cache)
	expect(t, w, "RESET at 10", "ADDED default/a@3 at 3", "SYNCED at 10")
	api.Serve()
	upstream.End()
	api.Next(t, "watch-list").Refuse(notFound)
	api.Next(t, "list").Refuse(notFound)
	_, err := w.Next(t.Context())
	var gone *discovery.ResourceGoneError
	if !errors.As(err, &gone) || gone.Resource != pods {
		t.Fatalf("the watch ended with %v", err)
	}
	hub.running.Wait() // the cache has been removed

	answered := ask(t.Context(), hub, pods)
	api.Next(t, "watch-list").Open().Send(t, watch.Bookmark, bookmarkAt("30"))
	if got := <-answered; got.err != nil || got.cache == cache {
		t.Errorf("the new cache of the resource is %p, %v", got.cache, got.err)
	}
}

func TestHub_KeepsCacheAfterA404OfAServedResource(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	hub, cache, upstream := syncedHub(t, api)
	w := longWatch(t, cache)
	expect(t, w, "RESET at 10", "ADDED default/a@3 at 3", "SYNCED at 10")
	upstream.End()
	api.Next(t, "watch-list").Refuse(notFound)
	api.Next(t, "list").Refuse(notFound)
	api.Next(t, "watch-list").Open().Send(t, watch.Bookmark, bookmarkAt("20"))
	expect(t, w, "DELETED default/a@3 at 20")
	if again, err := hub.Cache(t.Context(), pods); err != nil || again.scopes[0] != cache {
		t.Errorf("the cache is %p, %v; it was %p", again, err, cache)
	}
}

func TestHub_CloseEndsWatchersAndWaitingCallers(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	hub, cache, _ := syncedHub(t, api)
	w := longWatch(t, cache)
	expect(t, w, "RESET at 10", "ADDED default/a@3 at 3", "SYNCED at 10")
	waiting := ask(t.Context(), hub, nodes)
	api.Next(t, "watch-list").Open()

	hub.Close()
	if _, err := w.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("the watch ended with %v", err)
	}
	if got := <-waiting; !errors.Is(got.err, ErrClosed) {
		t.Errorf("the waiting caller got %v", got.err)
	}
	if _, err := hub.Cache(t.Context(), pods); !errors.Is(err, ErrClosed) {
		t.Errorf("a later caller got %v", err)
	}
	hub.Close() // a second Close has no effect
}

func TestHub_ReturnsTheCauseOfACancelledCall(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	hub := hubOf(t, api.Config())
	why := errors.New("the caller has disconnected")
	ctx, cancel := context.WithCancelCause(t.Context())
	answered := ask(ctx, hub, pods)
	api.Next(t, "watch-list").Open()
	cancel(why)
	if got := <-answered; !errors.Is(got.err, why) {
		t.Errorf("error %v", got.err)
	}
}

func TestSelect_ChecksFieldsAtTheAPIServer(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	_, cache, _ := syncedHub(t, api)
	for name, test := range map[string]struct {
		answer func(*fakeapi.Call)
		check  func(error) bool
	}{
		"yes":           {func(c *fakeapi.Call) { c.List(t, &corev1.PodList{}) }, func(err error) bool { return err == nil }},
		"no":            {func(c *fakeapi.Call) { c.Refuse(apierrors.NewBadRequest("no such field").ErrStatus) }, apierrors.IsBadRequest},
		"no permission": {func(c *fakeapi.Call) { c.Refuse(apierrors.NewForbidden(pods.GroupResource(), "", nil).ErrStatus) }, apierrors.IsForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			field := "spec." + strings.ReplaceAll(name, " ", "-")
			answered := make(chan error, 1)
			go func() {
				_, err := cache.Select(t.Context(), Query{FieldSelector: field + "=x"})
				answered <- err
			}()
			asked := api.Next(t, "list")
			if selector := asked.Query().Get("fieldSelector"); selector != field+"=-" {
				t.Errorf("requested with the field selector %q", selector)
			}
			test.answer(asked)
			if err := <-answered; !test.check(err) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestOptions_HaveDefaults(t *testing.T) {
	hub := hubOf(t, fakeapi.New(t).Config())
	if hub.options.WindowBytes != 16<<20 || hub.options.KeepManagedFields {
		t.Errorf("options are %+v", hub.options)
	}
}

// TestHub_KeepsCachesThatAreAwaited is about a first snapshot that takes longer than an unused cache is kept.
func TestHub_KeepsCachesThatAreAwaited(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	hub := hubOf(t, api.Config())
	asked := ask(t.Context(), hub, pods)
	upstream := api.Next(t, "watch-list").Open()
	hub.mu.Lock()
	running := hub.caches[reflected{resource: pods}]
	running.lastUsed = time.Now().Add(-2 * defaultIdleTimeout)
	hub.mu.Unlock()
	for running.cache.waiting.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	hub.endIdle(running)
	upstream.Send(t, watch.Bookmark, snapshotEnd("10"))
	if got := <-asked; got.err != nil || got.cache != running.cache {
		t.Errorf("the cache is %p, %v", got.cache, got.err)
	}
}

func TestHub_EndsIdleCaches(t *testing.T) {
	logged := captureLog(t)
	api := fakeapi.New(t, fakeapi.Core)
	hub, cache, upstream := syncedHub(t, api)
	watcher := longWatch(t, cache)
	expect(t, watcher, "RESET at 10", "ADDED default/a@3 at 3", "SYNCED at 10")

	hub.mu.Lock()
	running := hub.caches[reflected{resource: pods}]
	hub.mu.Unlock()
	longAgo := func() {
		hub.mu.Lock()
		defer hub.mu.Unlock()
		running.lastUsed = time.Now().Add(-2 * defaultIdleTimeout)
	}

	longAgo()
	hub.endIdle(running)
	if hub.kept(pods) != running.cache {
		t.Fatal("a watched cache has ended")
	}
	watcher.Close()
	hub.endIdle(running)
	if hub.kept(pods) != running.cache {
		t.Fatal("a recently watched cache has ended")
	}
	longAgo()
	hub.endIdle(running)
	<-upstream.Request.Context().Done() // the API server's watch has ended too
	text := logged.take()
	for _, line := range []string{`msg="cache started" resource=pods.v1`, `msg="cache ended" resource=pods.v1 reason=unused`} {
		if !strings.Contains(text, line) {
			t.Errorf("not logged: %s", line)
		}
	}

	if got, want := hub.Totals(), (Totals{Started: 1, Unused: 1}); got != want {
		t.Errorf("the totals are %+v, want %+v", got, want)
	}

	answered := ask(t.Context(), hub, pods)
	api.Next(t, "watch-list").Open().Send(t, watch.Bookmark, bookmarkAt("20"))
	if got := <-answered; got.err != nil || got.cache == cache {
		t.Errorf("the next caller gets %p, %v; it was %p", got.cache, got.err, cache)
	}
}

// kept returns the hub's cache of a resource without using it.
func (h *Hub) kept(resource Resource) *scopeCache {
	h.mu.Lock()
	defer h.mu.Unlock()
	if running, ok := h.caches[reflected{resource: resource}]; ok {
		return running.cache
	}
	return nil
}

// TestHub_FollowsNoRedirect has an API server that redirects every request to another host, where
// the service's credentials must not arrive.
func TestHub_FollowsNoRedirect(t *testing.T) {
	var redirected, arrived atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) }))
	defer other.Close()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		redirected.Add(1)
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer api.Close()
	hub := hubOf(t, &rest.Config{Host: api.URL, BearerToken: "service"})
	if _, err := hub.Resolver().Resolve(t.Context(), "pods"); err == nil {
		t.Error("a redirect was accepted as a response")
	}
	client, err := hub.clientFor(pods, hub.client, schema.GroupVersionKind{})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Get().Resource("pods").Do(t.Context()).Error(); err == nil {
		t.Error("a redirect was accepted as a list")
	}
	if redirected.Load() < 2 || arrived.Load() != 0 {
		t.Errorf("%d requests were redirected, %d have arrived at the other host", redirected.Load(), arrived.Load())
	}
}

func TestUncached_ResourcesHaveNoCache(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core, fakeapi.Widgets)
	hub, err := New(api.Config(), Options{Uncached: []string{"pods"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	refused, err := hub.Resolver().Resolve(t.Context(), "po")
	if err != nil || !refused.Refused || refused.Cacheable() {
		t.Fatalf("resolved to %v (%v)", refused, err)
	}
	if _, err := hub.Cache(t.Context(), refused); err == nil {
		t.Error("the resource has a cache")
	}
	types, _, err := hub.Resolver().Types(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range types {
		if of.Refused != (of.Name == "pods") {
			t.Errorf("%s: refused %t", of.Name, of.Refused)
		}
	}
}

// TestSelect_NamesAreThoseOfCallers selects objects of a resource by each of its names.
func TestSelect_NamesAreThoseOfCallers(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core, fakeapi.Widgets)
	for name, want := range map[string]string{
		"pods": "pods", "Pods": "pods", "pod": "pods", "Pod": "pods", "po": "pods", "pods.v1": "pods", "Po.v1": "pods",
		"widgets": "widgets.example.com", "Widget.example.com": "widgets.example.com", "widgets.v1.example.com": "widgets.example.com",
		"widgets.example": "widgets.example.com", // the beginning of a group, which kubectl accepts
		"nosuch":          "", "pods.example.com": "",
	} {
		hub, err := New(api.Config(), Options{Select: []Selected{{Resource: name, Labels: "a=b"}}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(hub.Close)
		if selected := hub.Selected(pods); (selected != "") != (want == "pods" && !slices.Contains([]string{"po", "Po.v1"}, name)) {
			t.Errorf("%s, before discovery was read: %q of pods are cached", name, selected)
		}
		for _, one := range []string{"pods", "widgets.example.com"} {
			resource, err := hub.Resolver().Resolve(t.Context(), one)
			if err != nil {
				t.Fatal(err)
			}
			if selected := hub.Selected(resource); selected != map[bool]string{true: "a=b"}[one == want] {
				t.Errorf("%s: %q of %s are cached", name, selected, one)
			}
		}
	}
}
