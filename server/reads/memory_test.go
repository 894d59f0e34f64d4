package reads

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/sorted"
)

// TestResponseMemory_GrowsWithGroups counts objects with more values than one count can have, where
// other calls use all memory except for what a count reserves at first.
func TestResponseMemory_GrowsWithGroups(t *testing.T) {
	of := budget.NewResponses(gate.Limits{}, observe.NewMetrics())
	of.Memory = fairqueue.New(fairqueue.Limits{Total: groupsMemory + 2*groupsStep})
	ctx, call := of.Begin(servertest.CalledBy(t.Context(), "a"))
	if err := budget.ReserveResponse(ctx, groupsMemory); err != nil {
		t.Fatal(err)
	}
	plan, err := ParsePlan(&kubeconnectv1.CountRequest{GroupBy: []string{"metadata.name"}})
	if err != nil {
		t.Fatal(err)
	}
	var over *callerrors.LimitError
	if _, err = countAll(ctx, plan, servertest.ManyPods(t, 30_000)); !errors.As(err, &over) {
		t.Errorf("counted all groups, %v", err)
	}
	call.Release()
	if held := of.Memory.Held(); held != 0 {
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
			of := budget.NewResponses(gate.Limits{}, observe.NewMetrics())
			of.Memory = fairqueue.New(fairqueue.Limits{Total: test.total})
			ctx, call := of.Begin(servertest.CalledBy(t.Context(), "a"))
			var over *callerrors.LimitError
			_, err := sortObjects(ctx, order, objects)
			if test.fits && err != nil || !test.fits && !errors.As(err, &over) {
				t.Errorf("sorting returned %v", err)
			}
			call.Release()
			if held := of.Memory.Held(); held != 0 {
				t.Errorf("%d bytes are still reserved", held)
			}
		})
	}
}
