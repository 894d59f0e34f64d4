package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/sorted"
)

// loops are the loops of handlers over many objects.
func loops(t *testing.T, objects []*informerhub.Object) map[string]func(context.Context) error {
	t.Helper()
	list := func(orderBy string, view encode.View) func(context.Context) error {
		s := &Lists{cache: newListCache(edge.NewMetrics())}
		order, err := sorted.Parse(orderBy)
		if err != nil {
			t.Fatal(err)
		}
		params := listParams{order: order, view: view}
		return func(ctx context.Context) error {
			list := s.firstOf(listResult{snapshot: informerhub.Snapshot{Objects: objects}}, params)
			_, err := s.respondWithPage(ctx, list, params)
			return err
		}
	}
	fields, err := mask.Parse([]string{"spec.nodeName"})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := parsePlan(&kubeconnectv1.CountRequest{GroupBy: []string{"spec.nodeName"}})
	if err != nil {
		t.Fatal(err)
	}
	table := &metav1.Table{Rows: make([]metav1.TableRow, len(objects))}
	return map[string]func(context.Context) error{
		"a page":        list("", encode.View{}),
		"a masked page": list("", encode.View{Fields: fields}),
		"a sorted page": list("metadata.name desc", encode.View{}),
		"a count": func(ctx context.Context) error {
			return addGroups(ctx, &kubeconnectv1.CountResponse{}, countParams{plan: plan, maxGroups: 1}, objects)
		},
		"a table": func(ctx context.Context) error {
			_, err := encodeTableInSlot(ctx, table)
			return err
		},
		"owners": func(ctx context.Context) error {
			s := &Relations{}
			_, err := s.ownedByRoot(ctx, relation{owner: objects[0]}, objects)
			return err
		},
	}
}

// TestLoops_EndWhenTheClientDisconnects counts the checks whether the client has
// disconnected.
func TestLoops_EndWhenTheClientDisconnects(t *testing.T) {
	for name, loop := range loops(t, manyPods(t, 40*objectsBetweenYields)) {
		t.Run(name, func(t *testing.T) {
			for _, looks := range []int{1, 3, 10} {
				ctx := &leaving{Context: t.Context(), looks: looks}
				if err := loop(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("after %d checks it continues: %v", looks, err)
				}
			}
		})
	}
}

// TestSlots_ManyCallsDelayAnotherCallerByOneSlot has one caller make 20 calls with one processor
// slot, and another caller make one call after these.
func TestSlots_ManyCallsDelayAnotherCallerByOneSlot(t *testing.T) {
	objects := manyPods(t, 10*objectsBetweenYields)
	for name := range loops(t, objects) {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				loop := loops(t, objects)[name]
				queue := fairqueue.New(fairqueue.Limits{Total: 1})
				_, end, err := fairqueue.Begin(fairqueue.With(t.Context(), queue, "many"))
				if err != nil {
					t.Fatal(err)
				}
				var mu sync.Mutex // guards done
				var done []string
				var calling sync.WaitGroup
				call := func(caller string) {
					calling.Go(func() {
						if err := loop(fairqueue.With(t.Context(), queue, caller)); err != nil {
							t.Error(err)
						}
						mu.Lock()
						defer mu.Unlock()
						done = append(done, caller)
					})
				}
				for range 20 {
					call("many")
				}
				synctest.Wait()
				call("one")
				synctest.Wait()
				if len(done) > 0 {
					t.Fatalf("%d calls took no slot", len(done))
				}
				end()
				calling.Wait()
				if done := fmt.Sprint(done[:2]); done != "[one many]" && done != "[many one]" {
					t.Errorf("done first are %s", done)
				}
			})
		})
	}
}

// TestSlots_ShortWorkNeedsNone makes short lists and reads while another caller uses the only slot.
func TestSlots_ShortWorkNeedsNone(t *testing.T) {
	queue := fairqueue.New(fairqueue.Limits{Total: 1})
	_, end, err := fairqueue.Begin(fairqueue.With(t.Context(), queue, "many"))
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	objects := manyPods(t, objectsBetweenYields)
	short := loops(t, objects)
	delete(short, "a count") // an object can be in many groups
	for name, loop := range short {
		t.Run(name, func(t *testing.T) {
			if err := loop(fairqueue.With(t.Context(), queue, "one")); err != nil {
				t.Error(err)
			}
		})
	}
}

// Connect encodes and compresses a response when the handler has returned: that takes place in the
// slot, and waiting for the client does not.
func TestRespondInSlot_HoldsTheSlotUntilTheResponseIsWritten(t *testing.T) {
	processors := fairqueue.New(fairqueue.Limits{Total: 1})
	failed := errors.New("failed")
	for what, test := range map[string]struct {
		long     bool
		fails    error
		encoding int64 // number of slots in use meanwhile
	}{
		"a long answer":      {long: true, encoding: 1},
		"a short answer":     {},
		"one that is failed": {long: true, fails: failed, encoding: 1},
	} {
		t.Run(what, func(t *testing.T) {
			newResponseMemory(edge.Limits{}, edge.NewMetrics()).serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, err := respondInSlot(fairqueue.With(r.Context(), processors, "a"), test.long, func(context.Context) (int, error) { return 1, test.fails })
				if !errors.Is(err, test.fails) {
					t.Errorf("answerInTurn returned %v", err)
				}
				if held := processors.Held(); held != test.encoding {
					t.Errorf("%d slots are in use while the response is encoded, want %d", held, test.encoding)
				}
				if test.fails != nil {
					return // nothing is written
				}
				if _, err := w.Write([]byte("answer")); err != nil {
					t.Error(err)
				}
				if held := processors.Held(); held != 0 {
					t.Errorf("%d slots are in use when the response has been written", held)
				}
			})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", http.NoBody))
			if held := processors.Held(); held != 0 {
				t.Errorf("%d slots are in use at the end", held)
			}
		})
	}
}

// TestSlots_AreTakenForFewLargeObjects reads the fields of two objects of a megabyte.
func TestSlots_AreTakenForFewLargeObjects(t *testing.T) {
	api := podsAPI()
	for i := range api.objects {
		api.objects[i].(*corev1.Pod).Annotations = map[string]string{"large": strings.Repeat("x", 1<<20)}
	}
	s, ctx := directly(t, api, newFakeRights(auth.Namespaces{All: true}))
	fields := []string{"metadata.name"}
	for name, call := range map[string]func(context.Context) error{
		"List with fields": func(ctx context.Context) error {
			_, err := s.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Fields: fields})
			return err
		},
		"List with order_by": func(ctx context.Context) error {
			_, err := s.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", OrderBy: "metadata.annotations.large", PageSize: 1, Fields: fields})
			return err
		},
		"List with field_selector": func(ctx context.Context) error {
			_, err := s.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", FieldSelector: "status.phase!=Unknown"})
			return err
		},
		"Get with fields": func(ctx context.Context) error {
			_, err := s.Get(ctx, &kubeconnectv1.GetRequest{Resource: "pods", Namespace: "default", Name: "a", Fields: fields})
			return err
		},
		"List with a relation": func(ctx context.Context) error {
			_, err := s.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Related: &kubeconnectv1.Relation{
				Type: kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, Resource: "pods", Namespace: "default", Name: "a", Transitive: true,
			}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			slots := 0
			ctx := fairqueue.WithMeter(ctx, fairqueue.New(fairqueue.Limits{Total: 1}), "jane", func(time.Duration) { slots++ })
			if err := call(ctx); err != nil {
				t.Fatal(err)
			}
			if slots == 0 {
				t.Error("the work is done without a processor slot")
			}
		})
	}
}
