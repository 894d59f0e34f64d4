package reads

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/sorted"
)

// loops are the loops of handlers over many objects.
func loops(t *testing.T, objects []*informerhub.Object) map[string]func(context.Context) error {
	t.Helper()
	list := func(orderBy string, view encode.View) func(context.Context) error {
		s := &Lists{cache: newListCache(observe.NewMetrics())}
		order, err := sorted.Parse(orderBy)
		if err != nil {
			t.Fatal(err)
		}
		params := listParams{order: order, view: view}
		return func(ctx context.Context) error {
			list := s.firstOf(Result{Snapshot: informerhub.Snapshot{Objects: objects}}, params)
			_, err := s.respondWithPage(ctx, list, params)
			return err
		}
	}
	fields, err := mask.Parse([]string{"spec.nodeName"})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := ParsePlan(&kubeconnectv1.CountRequest{GroupBy: []string{"spec.nodeName"}})
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
			_, err := s.ownedByRoot(ctx, Relation{owner: objects[0]}, objects)
			return err
		},
	}
}

// TestLoops_EndWhenTheClientDisconnects counts the checks whether the client has
// disconnected.
func TestLoops_EndWhenTheClientDisconnects(t *testing.T) {
	for name, loop := range loops(t, servertest.ManyPods(t, 40*budget.ObjectsBetweenYields)) {
		t.Run(name, func(t *testing.T) {
			for _, looks := range []int{1, 3, 10} {
				ctx := &servertest.Leaving{Context: t.Context(), Looks: looks}
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
	objects := servertest.ManyPods(t, 10*budget.ObjectsBetweenYields)
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
	objects := servertest.ManyPods(t, budget.ObjectsBetweenYields)
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
