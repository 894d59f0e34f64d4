package coverage_test

import (
	"context"
	"reflect"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
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
	made      atomic.Int32 // number of names assigned
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
func (w *walk) about(verb string, of twin) call {
	return call{verb: verb, of: w.row, namespace: w.namespace, name: of.text(w.parent.Name), manager: "tester"}
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
func ask(ctx context.Context, by caller, of twin, want expectation, asked making) (content any, err error) {
	for range attempts {
		if content, err = by.do(ctx, asked(of)); want != succeeds || !isConflict(err) {
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
func (w *walk) same(what string, want expectation, twins [2]twin, asked making) {
	w.t.Helper()
	ofService, err := ask(w.ctx, w.service, twins[0], want, asked)
	got := answer{ofService, nil}
	if err != nil {
		got = answer{nil, failureThrough(err)}
	}
	wanted, err := w.byClientGo(twins[1], want, asked)
	w.judge(what, want, wanted.neutral(twins[1].variables), got.neutral(twins[0].variables), err)
}

// sameRead makes one call through the service and with client-go, and compares the complete
// answers.
func (w *walk) sameRead(what string, want expectation, asked call) {
	w.t.Helper()
	content, err := w.service.do(w.ctx, asked)
	got := answer{withoutManagers(content), nil}
	if err != nil {
		got = answer{nil, failureThrough(err)}
	}
	wanted, err := w.byClientGo(twin{}, want, func(twin) call { return asked })
	wanted.Content = withoutManagers(wanted.Content)
	if asked.encoding == protobuf {
		wanted.Content = throughType(w.t, wanted.Content)
	}
	w.judge(what, want, wanted, got, err)
}

func (w *walk) byClientGo(of twin, want expectation, asked making) (answer, error) {
	content, err := ask(w.ctx, w.api, of, want, asked)
	if err != nil {
		return answer{nil, failureOf(err)}, err
	}
	return answer{content, nil}, nil
}

// judge compares the two answers, and records the result in the cell.
func (w *walk) judge(what string, want expectation, wanted, got answer, err error) {
	w.t.Helper()
	if w.recipe.Unordered {
		wanted.Content, got.Content = inAnyOrder(wanted.Content), inAnyOrder(got.Content)
	}
	wanted.Content = w.newer(wanted.Content)
	switch {
	case want == succeeds && err != nil:
		w.t.Fatalf("%s, %s: client-go: %v; check the recipe in %s", w.verb, what, err, recipesFile)
	case want == fails && err == nil:
		w.t.Errorf("%s, %s: client-go returned no error", w.verb, what)
	}
	cell := w.cells[w.verb]
	w.compared.Add(1)
	if err == nil {
		cell.objects++
	} else {
		cell.errors++
	}
	if !reflect.DeepEqual(wanted, got) {
		cell.differ++
		w.t.Errorf("%s, %s: (-client-go +kubeconnect)\n%s", w.verb, what, cmp.Diff(wanted, got))
	}
}

// newer returns the answer of client-go with the fields that the service's newer Go type adds.
func (w *walk) newer(content any) any {
	switch content := content.(type) {
	case map[string]any:
		return merged(content, w.parent.Newer)
	case []any:
		for i := range content {
			content[i] = w.newer(content[i])
		}
	}
	return content
}
