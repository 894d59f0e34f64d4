package call

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/auth"
)

// auditedCall returns the context of a call that is audited, and its trail.
func auditedCall(t *testing.T) (context.Context, *Trail) {
	t.Helper()
	c := New(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil), "192.0.2.0/24", func() {})
	trail := &Trail{}
	c.Record.Audit(trail)
	return c.Request.Context(), trail
}

func watchOf(resource string) Read {
	return Read{Attributes: auth.Attributes{Verb: "watch", Version: "v1", Resource: resource}, Namespaced: true, Scope: auth.Namespaces{All: true}}
}

// dueOn returns what must be in the log before the next message, in a short form.
func dueOn(trail *Trail) (lines []string) {
	begins, ends := trail.Due()
	for _, entry := range begins {
		lines = append(lines, fmt.Sprintf("%s begins in %q %t", entry.Resource, entry.Scope.Names, entry.Scope.All))
	}
	for _, entry := range ends {
		lines = append(lines, fmt.Sprintf("%s ends forbidden %t", entry.Resource, entry.IsForbidden()))
	}
	return lines
}

// TestTrail_HasEachDecisionOnce makes decisions about a read again and again, as a stream does.
func TestTrail_HasEachDecisionOnce(t *testing.T) {
	ctx, trail := auditedCall(t)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil)
	for i, step := range []struct {
		scope auth.Namespaces
		err   error
		want  []string
	}{
		{scope: auth.Namespaces{All: true}, want: []string{`pods begins in [] true`}},
		{scope: auth.Namespaces{All: true}},
		{err: apierrors.NewServiceUnavailable("the cluster cannot be asked")},
		{scope: auth.Namespaces{Names: []string{"a"}}, want: []string{`pods begins in ["a"] false`}},
		{scope: auth.Namespaces{Names: []string{"a"}}},
		{err: forbidden, want: []string{"pods ends forbidden true"}},
		{err: forbidden},
		{scope: auth.Namespaces{All: true}, want: []string{`pods begins in [] true`}},
	} {
		read := watchOf("pods")
		read.Scope, read.Err = step.scope, step.err
		NoteRead(ctx, read)
		if got := dueOn(trail); !slices.Equal(got, step.want) {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
	if ends := trail.End(); len(ends) != 1 || len(trail.End()) != 0 {
		t.Errorf("at the end: %v", ends)
	}
}

func TestTrail_IsBounded(t *testing.T) {
	ctx, trail := auditedCall(t)
	long := strings.Repeat("x", 1<<20)
	for i := range maxEntries + 3 {
		read := watchOf(fmt.Sprint("resource-", i))
		read.Namespace, read.Name, read.Selection = long, long, Selection{long, long, long}
		NoteRead(ctx, read)
	}
	ends := trail.End()
	if len(ends) != maxEntries || trail.Omitted() != 3 {
		t.Errorf("%d reads, and %d omitted", len(ends), trail.Omitted())
	}
	for _, text := range []string{ends[0].Namespace, ends[0].Name, ends[0].Selection.Labels, ends[0].Selection.Fields, ends[0].Selection.Filter} {
		if len(text) > maxSelectionBytes {
			t.Errorf("a text has %d bytes", len(text))
		}
	}
}

// TestTrail_PartsHaveTheirOwn notes reads, objects and bytes of two parts at the same time.
func TestTrail_PartsHaveTheirOwn(t *testing.T) {
	ctx, trail := auditedCall(t)
	record := &From(ctx).Record
	writer := From(ctx).Writer(httptest.NewRecorder())
	for i, name := range []string{"pods", "nodes"} {
		part, end := BeginPart(ctx, name)
		NoteRead(part, watchOf(name))
		NoteObjects(part, i+1)
		SendsPart(part)
		if record.Sending() != trailOf(part) {
			t.Errorf("the part of %s does not send", name)
		}
		_, _ = writer.Write(make([]byte, 10*(i+1)))
		end()
	}
	parts := trail.Parts()
	if record.Trail() != trail || !trail.IsEmpty() || len(parts) != 2 {
		t.Fatalf("%d parts", len(parts))
	}
	for i, name := range []string{"pods", "nodes"} {
		ends := parts[i].End()
		if len(ends) != 1 || ends[0].Resource != name || ends[0].Events != int64(i+1) || record.BytesOf(parts[i]) != int64(10*(i+1)) {
			t.Errorf("part %d has %+v, and %d bytes", i, ends, record.BytesOf(parts[i]))
		}
	}
}
