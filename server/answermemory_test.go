package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// latest is CONSISTENCY_LATEST.
const latest = kubeconnectv1.Consistency_CONSISTENCY_LATEST

// podLists returns lists and tables of pods, and single pods.
func podLists(count int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
		for i := range count {
			list.Items = append(list.Items, *objecttest.Pod(string(rune('a'+i)), i+1))
			list.Items[i].Annotations = map[string]string{"large": strings.Repeat("x", 10<<10)}
		}
		_ = json.NewEncoder(w).Encode(list)
	})
}

// TestResponseMemory_IsHeldUntilTheResponseIsSent makes calls with large responses.
func TestResponseMemory_IsHeldUntilTheResponseIsSent(t *testing.T) {
	api := servertest.PodsAPI()
	api.List = podLists(3)
	h := handlersOf(t, api, gate.Limits{})
	s := h.resources
	for name, test := range map[string]struct {
		call  func(context.Context) error
		least int64
	}{
		"List": {func(ctx context.Context) error {
			_, err := s.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods"})
			return err
		}, 2_000},
		"List, sorted": {func(ctx context.Context) error {
			_, err := s.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", OrderBy: "metadata.name"})
			return err
		}, 2_000},
		"List of the latest": {func(ctx context.Context) error {
			_, err := s.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Consistency: latest})
			return err
		}, 100_000},
		"Get": {func(ctx context.Context) error {
			_, err := s.Get(ctx, &kubeconnectv1.GetRequest{Resource: "pods", Namespace: "default", Name: "a"})
			return err
		}, 1_000},
		"Count": {func(ctx context.Context) error {
			_, err := s.Count(ctx, &kubeconnectv1.CountRequest{Resource: "pods", GroupBy: []string{"spec.nodeName"}})
			return err
		}, 2 << 20},
		"GetSchema": {func(ctx context.Context) error {
			_, err := h.discovery.GetSchema(ctx, &kubeconnectv1.GetSchemaRequest{Resource: "pods"})
			return err
		}, schemaBytes},
		"ListResourceTypes": {func(ctx context.Context) error {
			_, err := h.discovery.ListResourceTypes(ctx, &kubeconnectv1.ListResourceTypesRequest{})
			return err
		}, 4 * typeBytes},
	} {
		t.Run(name, func(t *testing.T) {
			responses := budget.NewResponses(gate.Limits{}, observe.NewMetrics())
			ctx, call := responses.Begin(servertest.CalledBy(t.Context(), "a"))
			if err := test.call(ctx); err != nil {
				t.Fatal(err)
			}
			if held := responses.Memory.Held(); held < test.least {
				t.Errorf("%d bytes are reserved, want at least %d", held, test.least)
			}
			call.Release()
			if held := responses.Memory.Held() + responses.Upstream.Held(); held != 0 {
				t.Errorf("%d bytes are still reserved", held)
			}
		})
	}
}

// upstreamStep is the unit in which memory for responses of the API server is reserved.
const upstreamStep = 256 << 10

// TestResponseMemory_IsReservedForTables also shows that a table is read in a processor slot.
func TestResponseMemory_IsReservedForTables(t *testing.T) {
	s := resourcesOf(t, &servertest.FakeAPI{List: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(metav1.Table{
			TypeMeta:          metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "Table"},
			ColumnDefinitions: []metav1.TableColumnDefinition{{Name: "Text", Type: "string"}},
			Rows:              []metav1.TableRow{{Cells: []any{"x"}}, {Cells: []any{"y"}}},
		})
	})}, gate.Limits{})
	responses := budget.NewResponses(gate.Limits{}, observe.NewMetrics())
	slots := 0
	ctx, _ := responses.Begin(servertest.CalledBy(t.Context(), "a"))
	ctx = fairqueue.WithMeter(ctx, fairqueue.New(fairqueue.Limits{Total: 1}), "a", func(time.Duration) { slots++ })
	if _, err := s.GetTable(ctx, &kubeconnectv1.GetTableRequest{Resource: "pods"}); err != nil {
		t.Fatal(err)
	}
	if slots != 1 {
		t.Errorf("%d slots were used", slots)
	}
	if held := responses.Memory.Held(); held != 2*(1024+512) {
		t.Errorf("%d bytes are reserved", held)
	}
	if held := responses.Upstream.Held(); held != upstreamStep {
		t.Errorf("%d bytes are reserved for responses of the API server", held)
	}
}

// TestResponseMemory_LiveResponsesAreCountedWhileRead has memory for two steps, of which one caller
// can use one.
func TestResponseMemory_LiveResponsesAreCountedWhileRead(t *testing.T) {
	const pageOfPods = upstreamStep/(10<<10) + 1 // needs two steps
	s := resourcesOf(t, &servertest.FakeAPI{List: podLists(pageOfPods)}, gate.Limits{})
	responses := budget.NewResponses(gate.Limits{}, observe.NewMetrics())
	responses.Upstream, responses.MaxUpstream = fairqueue.New(fairqueue.Limits{Total: 2 * upstreamStep}), 2*upstreamStep
	var listed *kubeconnectv1.ListResponse
	list := func(name string) (release func(), err error) {
		ctx, call := responses.Begin(servertest.CalledBy(t.Context(), name))
		listed, err = s.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Consistency: latest})
		return call.Release, err
	}
	first, err := list("a")
	if err != nil {
		t.Fatal(err)
	}
	if held := responses.Upstream.Held(); held != 2*upstreamStep {
		t.Errorf("%d bytes are reserved", held)
	}
	var over *callerrors.LimitError
	second, err := list("b")
	if second(); !errors.As(err, &over) {
		t.Errorf("where others hold all of it: %v", err)
	}
	first()
	responses.MaxUpstream = upstreamStep
	third, err := list("a")
	if third(); err != nil || listed.GetSource() != kubeconnectv1.Source_SOURCE_CACHE {
		t.Errorf("more than the limit of one caller: the list is from %v, error %v; want it from a cache", listed.GetSource(), err)
	}
	if held := responses.Upstream.Held(); held != 0 {
		t.Errorf("%d bytes are still reserved", held)
	}
}
