package reads

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/target"
)

// upstreamStep is the unit in which memory for responses of the API server is reserved.
const upstreamStep = 256 << 10

// namespaceLists responds to lists of namespaces with one pod each, and records the lists.
type namespaceLists struct {
	podBytes int           // of each pod
	takes    time.Duration // the time until each response

	mu            sync.Mutex // guards the fields below
	lists         int
	bytes         int            // of all responses
	open, maxOpen map[string]int // lists at one time, by caller; "" for all callers
}

// newNamespaceLists returns an API server of such lists.
func newNamespaceLists(t *testing.T, podBytes int) (*namespaceLists, *fakeapi.Server) {
	lists := &namespaceLists{podBytes: podBytes, open: make(map[string]int), maxOpen: make(map[string]int)}
	api := fakeapi.New(t, fakeapi.Core)
	api.Handle("pods", lists)
	return lists, api
}

// ServeHTTP implements http.Handler.
func (l *namespaceLists) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	caller := r.Header.Get("Impersonate-User")
	l.enter(caller)
	time.Sleep(l.takes)
	l.leave(caller)
	pod := objecttest.Pod("a", 3)
	pod.Namespace = strings.Split(r.URL.Path, "/")[4]
	pod.Annotations = map[string]string{"large": strings.Repeat("x", l.podBytes)}
	fakeapi.Respond(countedWriter{w, l}, corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: []corev1.Pod{*pod},
	})
}

func (l *namespaceLists) enter(caller string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lists++
	for _, key := range []string{"", caller} {
		l.open[key]++
		l.maxOpen[key] = max(l.maxOpen[key], l.open[key])
	}
}

func (l *namespaceLists) leave(caller string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[""]--
	l.open[caller]--
}

// countedWriter counts the bytes of responses.
type countedWriter struct {
	http.ResponseWriter
	lists *namespaceLists
}

func (w countedWriter) Write(p []byte) (int, error) {
	w.lists.mu.Lock()
	w.lists.bytes += len(p)
	w.lists.mu.Unlock()
	return w.ResponseWriter.Write(p)
}

// readsInNamespaces returns the handlers of callers who may read a number of namespaces.
func readsInNamespaces(t *testing.T, api *fakeapi.Server, count int) *Reads {
	t.Helper()
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("ns-%04d", i)
	}
	hub, err := informerhub.New(api.DirectConfig(), informerhub.Options{Uncached: []string{"pods"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	clients, err := auth.NewClientFactory(api.DirectConfig(), nil)
	if err != nil {
		t.Fatal(err)
	}
	permissions := access.NewPermissions(servertest.NewFakeRights(servertest.Some(names...)), nil)
	return New(Config{
		Hub: hub, Targets: target.NewResolver(hub), Permissions: permissions, Clients: clients, Metrics: observe.NewMetrics(), Limits: gate.Limits{Rate: 1},
	})
}

// responsesWith returns the memory of responses, with a number of steps for the responses of the API server.
func responsesWith(steps int64) *budget.Responses {
	responses := budget.NewResponses(gate.Limits{}, observe.NewMetrics())
	responses.Upstream, responses.MaxUpstream = fairqueue.New(fairqueue.Limits{Total: steps * upstreamStep}), steps*upstreamStep
	return responses
}

// TestUpstream_ManySmallListsReserveWhatTheyRead reads many more namespaces than there are steps of memory.
func TestUpstream_ManySmallListsReserveWhatTheyRead(t *testing.T) {
	const namespaces, steps = 300, 8
	const latest = kubeconnectv1.Consistency_CONSISTENCY_LATEST
	for name, read := range map[string]func(context.Context, *Reads) (int64, error){
		"List": func(ctx context.Context, r *Reads) (int64, error) {
			page, err := r.Lists.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Consistency: latest})
			return int64(len(page.GetObjects())), err
		},
		"List, sorted": func(ctx context.Context, r *Reads) (int64, error) {
			page, err := r.Lists.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Consistency: latest, OrderBy: "metadata.name", PageSize: 10})
			return int64(len(page.GetObjects())) + page.GetRemainingItemCount(), err
		},
		"List, a later page": func(ctx context.Context, r *Reads) (int64, error) {
			request := &kubeconnectv1.ListRequest{Resource: "pods", Consistency: latest, PageSize: 10}
			page, err := r.Lists.List(ctx, request)
			if err != nil {
				return 0, err
			}
			r.Lists.cache = newListCache(observe.NewMetrics()) // as at another replica
			request.PageToken = page.GetNextPageToken()
			page, err = r.Lists.List(ctx, request)
			return 10 + int64(len(page.GetObjects())) + page.GetRemainingItemCount(), err
		},
		"Count": func(ctx context.Context, r *Reads) (int64, error) {
			counted, err := r.Counts.Count(ctx, &kubeconnectv1.CountRequest{Resource: "pods", Consistency: latest, GroupBy: []string{"metadata.namespace"}})
			return counted.GetTotalCount(), err
		},
	} {
		t.Run(name, func(t *testing.T) {
			lists, api := newNamespaceLists(t, 10)
			r := readsInNamespaces(t, api, namespaces)
			responses := responsesWith(steps)
			ctx, call := responses.Begin(servertest.CalledBy(t.Context(), "jane"))
			defer call.Release()
			if count, err := read(ctx, r); count != namespaces || err != nil {
				t.Errorf("read %d objects, want %d: %v", count, namespaces, err)
			}
			if held := responses.Upstream.Held(); held > int64(lists.bytes)+upstreamStep {
				t.Errorf("%d bytes are reserved for %d bytes", held, lists.bytes)
			}
			if lists.maxOpen[""] > 1 {
				t.Errorf("%d lists of one call at a time", lists.maxOpen[""])
			}
		})
	}
}

// TestUpstream_StopsListingWithoutMemory reads namespaces that need all of the memory after a few of them.
func TestUpstream_StopsListingWithoutMemory(t *testing.T) {
	const namespaces, steps, podBytes = 300, 4, 100 << 10
	for name, others := range map[string]int64{"the call needs more than a caller may use": 0, "others hold some": 1} {
		t.Run(name, func(t *testing.T) {
			lists, api := newNamespaceLists(t, podBytes)
			r := readsInNamespaces(t, api, namespaces)
			responses := responsesWith(steps)
			if _, ok := responses.Upstream.TryAcquire("other", others*upstreamStep); !ok {
				t.Fatal("there is no memory")
			}
			ctx, call := responses.Begin(servertest.CalledBy(t.Context(), "jane"))
			_, err := r.Lists.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Consistency: kubeconnectv1.Consistency_CONSISTENCY_LATEST})
			var over *callerrors.LimitError
			switch {
			case others == 0 && (!apierrors.IsRequestEntityTooLargeError(err) || !strings.Contains(err.Error(), "1 MiB")):
				t.Errorf("a call that is too large: %v", err)
			case others > 0 && !errors.As(err, &over):
				t.Errorf("a call that others delay: %v", err)
			}
			if most := steps*upstreamStep/podBytes + 1; lists.lists > most {
				t.Errorf("%d lists were requested, want at most %d", lists.lists, most)
			}
			if call.Release(); responses.Upstream.Held() != others*upstreamStep {
				t.Errorf("%d bytes are still reserved", responses.Upstream.Held())
			}
		})
	}
}

// TestUpstream_LongListsLeaveTurnsForOthers has callers make as many lists as are read at one time, each of so many namespaces
// that it takes longer than a list waits for a slot.
func TestUpstream_LongListsLeaveTurnsForOthers(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		lists, api := newNamespaceLists(t, 10)
		lists.takes = 200 * time.Millisecond
		const namespaces = 100 // of one list: 20 s
		long, short := readsInNamespaces(t, api, namespaces), readsInNamespaces(t, api, 1)
		short.Snapshots.upstream.slots = long.Snapshots.upstream.slots
		list := func(r *Reads, name string) (int, error) {
			page, err := r.Lists.List(servertest.CalledBy(t.Context(), name), &kubeconnectv1.ListRequest{
				Resource: "pods", Consistency: kubeconnectv1.Consistency_CONSISTENCY_LATEST,
			})
			return len(page.GetObjects()), err
		}
		var reading sync.WaitGroup
		var ended atomic.Int32
		for i := range maxUpstreamLists {
			reading.Go(func() {
				if count, err := list(long, fmt.Sprint("long-", i/(maxUpstreamLists/upstreamListsDivisor))); count != namespaces || err != nil {
					t.Errorf("a long list has %d objects: %v", count, err)
				}
				ended.Add(1)
			})
		}
		time.Sleep(time.Second)
		for range 3 {
			if count, err := list(short, "short"); count != 1 || err != nil || ended.Load() > 0 {
				t.Errorf("a short list has %d objects, after %d long ones have ended: %v", count, ended.Load(), err)
			}
		}
		reading.Wait()
		for caller, most := range lists.maxOpen {
			if caller == "" && most > maxUpstreamLists || caller != "" && most > maxUpstreamLists/upstreamListsDivisor {
				t.Errorf("%q: %d lists at one time", caller, most)
			}
		}
	})
}
