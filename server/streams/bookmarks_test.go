package streams

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

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
	bookmark  string // the version of the last BOOKMARK; empty if there was none since RESET
}

// openedWatch opens a watch, which ends with the test.
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
	ended := make(chan error, 1)
	go func() { ended <- watches.run(ctx, &watchPart{watches: watches, params: params, sender: sender}) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
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
