package informerhub

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// An index that is built while objects change has all of them.
func TestFieldIndex_IsBuiltInPartsWhileObjectsChange(t *testing.T) {
	c := tenants(t)
	store, index, _ := c.beginIndex("spec.nodeName", object.OneValue(mustFind(t, c, "spec.nodeName")))
	part := c.addToIndex(store, "spec.nodeName", nil)
	for step := 0; len(part) > 0; step++ {
		for i := range part {
			part[i].values = index.reader.Values(part[i].object)
		}
		if place := step * indexPart; place+9 < tenantObjects { // both are in the part
			changed, deleted := fmt.Sprintf("pod-%04d", place+5), fmt.Sprintf("pod-%04d", place+9)
			must(t, c.Update(podObject(t, traits{Namespace: "theirs", Name: changed, UID: fmt.Sprint("u", place+5), Version: fmt.Sprint(10_000 + 2*step), Node: "moved"})))
			must(t, c.Delete(podObject(t, traits{Namespace: "theirs", Name: deleted, Version: fmt.Sprint(10_001 + 2*step)})))
		}
		part = c.addToIndex(store, "spec.nodeName", part)
	}
	c.endIndex(index)
	if !c.store.isIndexed("spec.nodeName") {
		t.Error("the index is not complete")
	}
	checkIndex(t, c.store)
}

// TestFieldIndex_IsAwaitedWhileAnotherCallerBuildsIt starts a selection while an index is being built:
// without the index it would examine every object.
func TestFieldIndex_IsAwaitedWhileAnotherCallerBuildsIt(t *testing.T) {
	const field = "spec.nodeName"
	for name, test := range map[string]struct {
		end     func(*testing.T, *scopeCache, *store, *fieldIndex) // of the other caller's work
		indexed bool
	}{
		"until it is complete": {func(t *testing.T, c *scopeCache, in *store, index *fieldIndex) {
			must(t, c.buildIndex(t.Context(), in, field, index))
		}, true},
		"until the other caller has disconnected": {func(_ *testing.T, c *scopeCache, _ *store, index *fieldIndex) {
			c.endIndex(index)
		}, true},
		"for a limited time": {func(*testing.T, *scopeCache, *store, *fieldIndex) { time.Sleep(indexTimeout) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				c := tenants(t)
				in, index, _ := c.beginIndex(field, object.OneValue(mustFind(t, c, field)))
				selected := make(chan error, 1)
				go func() {
					_, err := c.Select(t.Context(), Query{FieldSelector: field + "=n"})
					selected <- err
				}()
				synctest.Wait()
				if len(selected) > 0 {
					t.Fatal("the selection has not waited for the index")
				}
				test.end(t, c, in, index)
				must(t, <-selected)
				if c.store.isIndexed(field) != test.indexed {
					t.Errorf("the field is indexed: %v", !test.indexed)
				}
			})
		})
	}
}
