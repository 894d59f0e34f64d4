package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/sorted"
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
	api := podsAPI()
	api.list = podLists(3)
	s := resourcesOf(t, api, edge.Limits{})
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
		}, groupsMemory},
		"GetSchema": {func(ctx context.Context) error {
			_, err := discoveryPart(s).GetSchema(ctx, &kubeconnectv1.GetSchemaRequest{Resource: "pods"})
			return err
		}, schemaBytes},
		"ListResourceTypes": {func(ctx context.Context) error {
			_, err := discoveryPart(s).ListResourceTypes(ctx, &kubeconnectv1.ListResourceTypesRequest{})
			return err
		}, 4 * typeBytes},
	} {
		t.Run(name, func(t *testing.T) {
			responses := newResponseMemory(edge.Limits{}, edge.NewMetrics())
			call := &callMemory{budget: responses}
			if err := test.call(context.WithValue(calledBy(t.Context(), "a"), callMemoryKey{}, call)); err != nil {
				t.Fatal(err)
			}
			if held := responses.memory.Held(); held < test.least {
				t.Errorf("%d bytes are reserved, want at least %d", held, test.least)
			}
			call.release()
			if held := responses.memory.Held() + responses.live.Held(); held != 0 {
				t.Errorf("%d bytes are still reserved", held)
			}
		})
	}
}

// discoveryPart returns the handler of discovery beside others.
func discoveryPart(s resources) *discoveryService {
	return &discoveryService{hub: s.Objects.hub, targets: s.Objects.targets, permissions: s.Objects.permissions}
}

// TestResponseMemory_IsReservedForTables also shows that a table is read in a processor slot.
func TestResponseMemory_IsReservedForTables(t *testing.T) {
	s := resourcesOf(t, &fakeAPI{list: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(metav1.Table{
			TypeMeta:          metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "Table"},
			ColumnDefinitions: []metav1.TableColumnDefinition{{Name: "Text", Type: "string"}},
			Rows:              []metav1.TableRow{{Cells: []any{"x"}}, {Cells: []any{"y"}}},
		})
	})}, edge.Limits{})
	responses := newResponseMemory(edge.Limits{}, edge.NewMetrics())
	call := &callMemory{budget: responses}
	slots := 0
	ctx := fairqueue.WithMeter(calledBy(t.Context(), "a"), fairqueue.New(fairqueue.Limits{Total: 1}), "a", func(time.Duration) { slots++ })
	if _, err := s.GetTable(context.WithValue(ctx, callMemoryKey{}, call), &kubeconnectv1.GetTableRequest{Resource: "pods"}); err != nil {
		t.Fatal(err)
	}
	if slots != 1 {
		t.Errorf("%d slots were used", slots)
	}
	if held := responses.memory.Held(); held != 2*(rowHeadBytes+cellBytes) {
		t.Errorf("%d bytes are reserved", held)
	}
	if held := responses.live.Held(); held != liveStep {
		t.Errorf("%d bytes are reserved for responses of the API server", held)
	}
}

// TestResponseMemory_GrowsWithGroups counts objects with more values than one count can have, where
// other calls use all memory except for what a count reserves at first.
func TestResponseMemory_GrowsWithGroups(t *testing.T) {
	of := newResponseMemory(edge.Limits{}, edge.NewMetrics())
	of.memory = fairqueue.New(fairqueue.Limits{Total: groupsMemory + 2*groupsStep})
	call := &callMemory{budget: of}
	ctx := context.WithValue(calledBy(t.Context(), "a"), callMemoryKey{}, call)
	if err := reserveResponse(ctx, groupsMemory); err != nil {
		t.Fatal(err)
	}
	plan, err := parsePlan(&kubeconnectv1.CountRequest{GroupBy: []string{"metadata.name"}})
	if err != nil {
		t.Fatal(err)
	}
	var over *edge.LimitError
	if _, err = countAll(ctx, plan, manyPods(t, 30_000)); !errors.As(err, &over) {
		t.Errorf("counted all groups, %v", err)
	}
	call.release()
	if held := of.memory.Held(); held != 0 {
		t.Errorf("%d bytes are still reserved", held)
	}
}

// TestResponseMemory_GrowsWithSortKeys sorts objects by long strings, where other calls use the memory that
// the strings need.
func TestResponseMemory_GrowsWithSortKeys(t *testing.T) {
	order, err := sorted.Parse("spec.text")
	if err != nil {
		t.Fatal(err)
	}
	objects := make([]*informerhub.Object, 3_000)
	for i := range objects {
		objects[i] = objecttest.WidgetObject(t, fmt.Sprintf(
			`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"namespace":"a","name":"w-%d","uid":"u","resourceVersion":"1"},"spec":{"text":"%d%s"}}`, i, i, strings.Repeat("x", 2_000)))
	}
	for name, test := range map[string]struct {
		total int64
		fits  bool
	}{"too little": {2 * keysStep, false}, "enough": {4 * keysStep, true}} {
		t.Run(name, func(t *testing.T) {
			of := newResponseMemory(edge.Limits{}, edge.NewMetrics())
			of.memory = fairqueue.New(fairqueue.Limits{Total: test.total})
			call := &callMemory{budget: of}
			var over *edge.LimitError
			_, err := sortObjects(context.WithValue(calledBy(t.Context(), "a"), callMemoryKey{}, call), order, objects)
			if test.fits && err != nil || !test.fits && !errors.As(err, &over) {
				t.Errorf("sorting returned %v", err)
			}
			call.release()
			if held := of.memory.Held(); held != 0 {
				t.Errorf("%d bytes are still reserved", held)
			}
		})
	}
}

func manyPods(t *testing.T, count int) []*informerhub.Object {
	t.Helper()
	objects := make([]*informerhub.Object, count)
	for i := range objects {
		objects[i] = objecttest.PodObject(t, objecttest.Pod(fmt.Sprint("pod-", i), i))
	}
	return objects
}

// TestResponseMemory_LiveResponsesAreCountedWhileRead has memory for two steps, of which one caller
// can use one.
func TestResponseMemory_LiveResponsesAreCountedWhileRead(t *testing.T) {
	const pageOfPods = liveStep/(10<<10) + 1 // needs two steps
	s := resourcesOf(t, &fakeAPI{list: podLists(pageOfPods)}, edge.Limits{})
	responses := newResponseMemory(edge.Limits{}, edge.NewMetrics())
	responses.live, responses.maxLive = fairqueue.New(fairqueue.Limits{Total: 2 * liveStep}), 2*liveStep
	list := func(name string) (*callMemory, error) {
		call := &callMemory{budget: responses}
		ctx := context.WithValue(calledBy(t.Context(), name), callMemoryKey{}, call)
		_, err := s.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Consistency: latest})
		return call, err
	}
	first, err := list("a")
	if err != nil {
		t.Fatal(err)
	}
	if held := responses.live.Held(); held != 2*liveStep {
		t.Errorf("%d bytes are reserved", held)
	}
	var over *edge.LimitError
	second, err := list("b")
	if second.release(); !errors.As(err, &over) {
		t.Errorf("where others hold all of it: %v", err)
	}
	first.release()
	responses.maxLive = liveStep
	third, err := list("a")
	if third.release(); !apierrors.IsRequestEntityTooLargeError(err) || !strings.Contains(err.Error(), "narrow it") {
		t.Errorf("more than the limit of one caller: %v", err)
	}
	if held := responses.live.Held(); held != 0 {
		t.Errorf("%d bytes are still reserved", held)
	}
}
