package coverage_test

import (
	"context"
	"reflect"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect/v2"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

// lab is shared by all rows.
type lab struct {
	service   kubeconnect
	pods      kubeconnectv1connect.PodServiceClient
	api       clientGo
	namespace string
	names     atomic.Int32 // number of names assigned
	compared  atomic.Int32 // number of answers compared
}

// walk tests the verbs of one row. It is owned by the row's test.
type walk struct {
	*lab
	t          *testing.T
	ctx        context.Context
	row        row
	parentKind schema.GroupVersionKind
	parent     recipe // of the resource's objects
	recipe     recipe // of the objects read and written: those of the subresource, if there is one
	cells      map[string]*cell
	verb       string // the current verb
}

// about returns a call about a twin.
func (w *walk) about(verb string, twin twin) call {
	return call{verb: verb, row: w.row, namespace: w.namespace, name: twin.text(w.parent.Name), manager: "tester"}
}

// expectation is the result that client-go must have, so that a comparison shows something.
type expectation int

const (
	succeeds expectation = iota
	fails
	either // where resources differ
)

// attempts bounds how often a write is repeated because another write preceded it.
const attempts = 20

// ask makes a call, and repeats it if the API server itself has changed the object.
func ask(ctx context.Context, client caller, twin twin, want expectation, newCall making) (content any, err error) {
	for range attempts {
		if content, err = client.do(ctx, newCall(twin)); want != succeeds || !isConflict(err) {
			break
		}
	}
	return content, err
}

func isConflict(err error) bool {
	return apierrors.IsConflict(err) || err != nil && connect.CodeOf(err) == connect.CodeAborted
}

// same makes a call for each twin, for one through the service and for the other with client-go,
// and compares the answers except for the values that must differ.
func (w *walk) same(description string, want expectation, twins [2]twin, newCall making) {
	w.t.Helper()
	ofService, err := ask(w.ctx, w.service, twins[0], want, newCall)
	got := answer{ofService, nil}
	if err != nil {
		got = answer{nil, failureThrough(err)}
	}
	expected, err := w.byClientGo(twins[1], want, newCall)
	w.judge(description, want, expected.neutral(twins[1].variables), got.neutral(twins[0].variables), err)
}

// sameRead makes one call through the service and with client-go, and compares the complete
// answers.
func (w *walk) sameRead(description string, want expectation, params call) {
	w.t.Helper()
	content, err := w.service.do(w.ctx, params)
	got := answer{withoutManagers(content), nil}
	if err != nil {
		got = answer{nil, failureThrough(err)}
	}
	expected, err := w.byClientGo(twin{}, want, func(twin) call { return params })
	expected.Content = withoutManagers(expected.Content)
	if params.encoding == protobuf {
		expected.Content = throughType(w.t, expected.Content)
	}
	w.judge(description, want, expected, got, err)
}

func (w *walk) byClientGo(twin twin, want expectation, newCall making) (answer, error) {
	content, err := ask(w.ctx, w.api, twin, want, newCall)
	if err != nil {
		return answer{nil, failureOf(err)}, err
	}
	return answer{content, nil}, nil
}

// judge compares the two answers, and records the result in the cell.
func (w *walk) judge(description string, want expectation, expected, got answer, err error) {
	w.t.Helper()
	if w.recipe.Unordered {
		expected.Content, got.Content = inAnyOrder(expected.Content), inAnyOrder(got.Content)
	}
	switch {
	case want == succeeds && err != nil:
		w.t.Fatalf("%s, %s: client-go: %v; check the recipe in %s", w.verb, description, err, recipesFile)
	case want == fails && err == nil:
		w.t.Errorf("%s, %s: client-go returned no error", w.verb, description)
	}
	cell := w.cells[w.verb]
	w.compared.Add(1)
	if err == nil {
		cell.objects++
	} else {
		cell.errors++
	}
	if !reflect.DeepEqual(expected, got) {
		cell.differ++
		w.t.Errorf("%s, %s: (-client-go +kubeconnect)\n%s", w.verb, description, cmp.Diff(expected, got))
	}
}
