package informerhub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
)

// privatePod returns a pod of more than 32 KiB.
func privatePod(i int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: fmt.Sprint("pod-", i), UID: "u", ResourceVersion: fmt.Sprint(i + 1),
		Annotations: map[string]string{"large": strings.Repeat("x", 32<<10)},
	}}
}

func snapshotEnd(version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: version, Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}
}

// privateHub returns a hub of a fake API server. All its private caches hold at most 512 KiB, and
// those of one caller 256 KiB.
func privateHub(t *testing.T) (*fakeapi.Server, *Hub) {
	t.Helper()
	api := fakeapi.New(t, fakeapi.Core)
	hub, err := New(api.Config(), Options{})
	must(t, err)
	t.Cleanup(hub.Close)
	hub.privateBytes = fairqueue.New(fairqueue.Limits{Total: 512 << 10, PerKey: 256 << 10})
	return api, hub
}

// startedPrivate is a private cache that is being started.
type startedPrivate struct {
	cache *Private
	err   error
}

func startPrivate(ctx context.Context, hub *Hub, caller string) <-chan startedPrivate {
	return startPrivateWith(ctx, hub, caller, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}})
}

func startPrivateWith(ctx context.Context, hub *Hub, caller string, client *http.Client) <-chan startedPrivate {
	started := make(chan startedPrivate, 1)
	go func() {
		cache, err := hub.Private(ctx, pods, PrivateOptions{Caller: caller, Client: client})
		started <- startedPrivate{cache, err}
	}()
	return started
}

func wantTooMuch(t *testing.T, err error) {
	t.Helper()
	if !apierrors.IsRequestEntityTooLargeError(err) || !strings.Contains(err.Error(), "narrow the watch") {
		t.Errorf("error %v", err)
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); !ok || seconds != privateRetrySeconds {
		t.Errorf("the retry time is %d s", seconds)
	}
}

func wantNothingHeld(t *testing.T, hub *Hub) {
	t.Helper()
	if held := hub.privateBytes.Held(); held != 0 {
		t.Errorf("%d bytes are held at the end", held)
	}
}

func TestPrivate_StopsReadingATooLargeSnapshot(t *testing.T) {
	for name, send := range map[string]func(*testing.T, *fakeapi.Server){
		"by events": func(t *testing.T, api *fakeapi.Server) {
			snapshot := api.Next(t, "watch-list").Open()
			for i := range 10 {
				snapshot.Send(t, watch.Added, privatePod(i))
			}
		},
		"by pages": func(t *testing.T, api *fakeapi.Server) {
			api.Next(t, "watch-list").Refuse(metav1.Status{Status: metav1.StatusFailure, Code: 400, Reason: metav1.StatusReasonBadRequest})
			for page := range 2 {
				call := api.Next(t, "list")
				if limit := call.Query().Get("limit"); limit != fmt.Sprint(privateListPage) {
					t.Errorf("the page size is %q", limit)
				}
				list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "20", Continue: "more"}}
				for i := range 5 {
					list.Items = append(list.Items, *privatePod(5*page + i))
				}
				call.List(t, list)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			api, hub := privateHub(t)
			started := startPrivate(t.Context(), hub, "jane")
			send(t, api)
			wantTooMuch(t, (<-started).err)
			wantNothingHeld(t, hub)
		})
	}
}

func TestPrivate_EndsAWatchThatGrowsTooLarge(t *testing.T) {
	api, hub := privateHub(t)
	started := startPrivate(t.Context(), hub, "jane")
	upstream := api.Next(t, "watch-list").Open().Send(t, watch.Bookmark, snapshotEnd("1"))
	private := <-started
	must(t, private.err)
	w := private.cache.scope.watch(selectFrom(t, private.cache.scope, Query{}), WatchOptions{})
	defer w.Close()
	for i := 1; i < 10; i++ {
		upstream.Send(t, watch.Added, privatePod(i))
	}
	for {
		if _, err := w.Next(t.Context()); err != nil {
			wantTooMuch(t, err)
			break
		}
	}
	private.cache.End()
	wantNothingHeld(t, hub)
}

// TestPrivateConfig_ConnectionsRecordWhenDataArrives uses clients of two configurations.
func TestPrivateConfig_ConnectionsRecordWhenDataArrives(t *testing.T) {
	api, hub := privateHub(t)
	for _, test := range []struct {
		name     string
		config   *rest.Config
		recorded bool
	}{
		{"another configuration", api.Config(), false},
		{"that of private caches", hub.PrivateConfig(), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			client, err := rest.HTTPClientFor(test.config)
			must(t, err)
			defer client.CloseIdleConnections()
			started := startPrivateWith(t.Context(), hub, "jane", client)
			api.Next(t, "watch-list").Open().Send(t, watch.Bookmark, snapshotEnd("1"))
			private := <-started
			must(t, private.err)
			private.cache.End()
			if recorded := !hub.privateActivity.time().IsZero(); recorded != test.recorded {
				t.Errorf("data was recorded: %t", recorded)
			}
		})
	}
}

// Three callers need the memory of two: the third gets less, and the others keep what they had.
func TestPrivateMemory_IsSharedByCallers(t *testing.T) {
	queue := fairqueue.New(fairqueue.Limits{Total: 512 << 10, PerKey: 256 << 10})
	of := func(caller string) *privateMemory {
		return &privateMemory{queue: queue, caller: caller, resource: pods, overflow: func(error) {}}
	}
	jane, janeToo, joe, jim := of("jane"), of("jane"), of("joe"), of("jim")
	for _, step := range []struct {
		name string
		err  error
		want bool
	}{
		{"half of what jane may have", jane.settle(128<<10, false), true},
		{"too much for jane in all", janeToo.settle(160<<10, false), false},
		{"all that joe may have", joe.settle(256<<10, false), true},
		{"no more than there is for jim", jim.settle(192<<10, false), false},
		{"less for jane", jane.settle(0, false), true},
	} {
		if (step.err == nil) != step.want {
			t.Errorf("%s: %v", step.name, step.err)
		}
	}
	for _, memory := range []*privateMemory{jane, janeToo, joe, jim} {
		memory.end()
	}
	if held := queue.Held(); held != 0 {
		t.Errorf("%d bytes are held at the end", held)
	}
}

func TestPrivate_LimitsConcurrentSnapshotsOfACaller(t *testing.T) {
	api, hub := privateHub(t)
	ctx, leave := context.WithCancelCause(t.Context())
	var waiting []<-chan startedPrivate
	for range maxCallerPrivateLists + 1 {
		waiting = append(waiting, startPrivate(ctx, hub, "jane"))
	}
	var calls []*fakeapi.Call
	for range maxCallerPrivateLists {
		calls = append(calls, api.Next(t, "watch-list"))
	}
	other := startPrivate(t.Context(), hub, "joe")
	call := api.Next(t, "watch-list") // joe's: jane's last one waits
	call.Open().Send(t, watch.Bookmark, snapshotEnd("1"))
	joes := <-other
	must(t, joes.err)
	joes.cache.End()

	calls[0].Open().Send(t, watch.Bookmark, snapshotEnd("1"))
	api.Next(t, "watch-list")
	gone := errors.New("gone")
	leave(gone)
	ready := 0
	for _, one := range waiting {
		switch started := <-one; {
		case started.err == nil:
			ready++
			started.cache.End()
		case !errors.Is(started.err, gone):
			t.Errorf("error %v", started.err)
		}
	}
	if ready != 1 {
		t.Errorf("%d are ready, want 1", ready)
	}
	wantNothingHeld(t, hub)
}
