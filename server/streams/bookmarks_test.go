package streams

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// openWatch is a watch whose responses a test reads. It checks the guarantee of BOOKMARK at each response.
type openWatch struct {
	t         *testing.T
	responses chan *kubeconnectv1.WatchResponse
	end       func() // ends the watch, and returns when it has ended
	bookmark  string // the version of the last BOOKMARK; empty if there was none since RESET
}

// openedWatch opens a watch, which ends with the test at the latest.
func openedWatch(ctx context.Context, t *testing.T, watches *Watches, request *kubeconnectv1.WatchRequest) *openWatch {
	t.Helper()
	params, err := ParseWatch(request)
	if err != nil {
		t.Fatal(err)
	}
	opened := &openWatch{t: t, responses: make(chan *kubeconnectv1.WatchResponse)}
	ctx, cancel := context.WithCancel(ctx)
	sender := watches.newSender(ctx, params, nil, func(ctx context.Context, under *access.Lease, guarded streamlife.Guard, response *kubeconnectv1.WatchResponse) error {
		return under.Send(ctx, guarded, func() error {
			select {
			case opened.responses <- proto.CloneOf(response):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	})
	sender.messages = true
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = watches.run(ctx, &watchPart{watches: watches, params: params, sender: sender})
	}()
	opened.end = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	t.Cleanup(opened.end)
	return opened
}

// next returns the next response.
func (w *openWatch) next() *kubeconnectv1.WatchResponse {
	w.t.Helper()
	response := <-w.responses
	for _, event := range response.GetEvents() {
		version := event.GetResourceVersion()
		switch event.GetType() {
		case kubeconnectv1.EventType_EVENT_TYPE_RESET:
			w.bookmark = ""
		case kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK:
			if w.bookmark != "" && object.Older(version, w.bookmark) {
				w.t.Errorf("BOOKMARK at %s after BOOKMARK at %s", version, w.bookmark)
			}
			w.bookmark = version
		case kubeconnectv1.EventType_EVENT_TYPE_SYNCED:
		default:
			if w.bookmark != "" && !object.Older(w.bookmark, version) {
				w.t.Errorf("%v at %s after BOOKMARK at %s", event.GetType(), version, w.bookmark)
			}
		}
	}
	return response
}

// until returns the first response that has an event of a type.
func (w *openWatch) until(wanted kubeconnectv1.EventType) *kubeconnectv1.WatchResponse {
	w.t.Helper()
	for {
		response := w.next()
		for _, event := range response.GetEvents() {
			if event.GetType() == wanted {
				return response
			}
		}
	}
}

// TestBookmarks_ClaimNoDeletionThatMayFollow deletes two pods at one version, and takes the reviews of permissions away
// between them, so that bookmarks are repeated.
func TestBookmarks_ClaimNoDeletionThatMayFollow(t *testing.T) {
	for name, request := range map[string]*kubeconnectv1.WatchRequest{
		"a watch": {Resource: "pods"},
		"a page":  {Resource: "pods", Limit: 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api, rights := servertest.PodsAPI(), servertest.NewFakeRights(servertest.Some("default"))
			watches, ctx := watchesOn(t, api, rights)
			watch := openedWatch(ctx, t, watches, request)
			watch.until(kubeconnectv1.EventType_EVENT_TYPE_SYNCED)
			api.Events <- servertest.Deleted(objecttest.Pod("a", 20))
			watch.until(kubeconnectv1.EventType_EVENT_TYPE_DELETED)
			rights.Change(func() { rights.Away = true })
			for range 2 {
				if repeated := watch.until(kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK); !repeated.GetFreshness().GetStale() {
					t.Errorf("without a review, %v is sent", repeated)
				}
			}
			api.Events <- servertest.Deleted(objecttest.Pod("b", 20))
			rights.Change(func() { rights.Away = false })
			watch.until(kubeconnectv1.EventType_EVENT_TYPE_DELETED)
		})
	}
}

// TestBookmarks_OfAResumedWatchComeAfterAllChanges resumes a watch with more changes than a batch has, and a watch without
// changes. The first BOOKMARK is behind all of them, so that its client knows when it is current. A page has one batch.
func TestBookmarks_OfAResumedWatchComeAfterAllChanges(t *testing.T) {
	const begin = 1000
	for name, test := range map[string]struct {
		limit   int32
		changes int
	}{
		"a watch":                 {0, 20},
		"a watch without changes": {0, 0},
		"a page without changes":  {10, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := servertest.LargePods(5)
			watches, ctx := watchesOn(t, api, servertest.NewFakeRights(servertest.Some("default", "other")))
			request := &kubeconnectv1.WatchRequest{Resource: "pods", Limit: test.limit}
			before := openedWatch(ctx, t, watches, request)
			request.ResumeToken = before.until(kubeconnectv1.EventType_EVENT_TYPE_SYNCED).GetResumeToken()
			before.end()
			for i := range test.changes {
				pod := *api.Objects[i%5].(*corev1.Pod)
				pod.ResourceVersion = fmt.Sprint(begin + i + 1)
				api.Events <- servertest.Modified(&pod)
			}
			last := fmt.Sprint(begin + test.changes)
			resource, err := watches.targets.Resolve(ctx, "pods")
			if err != nil {
				t.Fatal(err)
			}
			cache, err := watches.hub.Cache(ctx, resource)
			if err == nil {
				err = cache.Await(ctx, last, 10*time.Second)
			}
			if err != nil {
				t.Fatal(err)
			}
			resumed := openedWatch(ctx, t, watches, request)
			resumed.until(kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK)
			if resumed.bookmark != last {
				t.Errorf("the first BOOKMARK is at %s, and the changes go to %s", resumed.bookmark, last)
			}
		})
	}
}
