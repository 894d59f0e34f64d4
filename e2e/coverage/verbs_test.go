package coverage_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// walkRow tests the verbs of a row.
func walkRow(t *testing.T, shared *lab, row row, kind schema.GroupVersionKind, rowRecipe recipe, cells map[string]*cell) {
	w := &walk{lab: shared, t: t, ctx: kit.DeadlineAfter(t, waitTimeout), row: row, parentKind: kind, parent: rowRecipe, recipe: rowRecipe, cells: cells}
	if row.subresource != "" {
		w.recipe = rowRecipe.sub(t, row)
	}
	for _, verb := range row.verbs {
		cells[verb] = &cell{note: w.recipe.Note}
	}
	w.all()
	for verb, cell := range cells {
		if cell.mark() == "untried" {
			t.Errorf("%s: compared %d objects and %d errors, want some of each", verb, cell.objects, cell.errors)
		}
	}
}

// all tests the verbs that the row has.
func (w *walk) all() {
	switch {
	case w.recipe.Refused:
		w.refused()
		return
	case w.row.name() == "pods/log":
		w.log()
		return
	}
	var seen watches
	if w.row.has("watch") {
		seen = w.watch()
	}
	twins := w.twins()
	for _, verb := range []struct {
		name string
		try  func([2]twin)
	}{
		{"get", w.get}, {"list", w.list}, {"update", w.update}, {"patch", w.patch}, {"delete", w.delete},
	} {
		if w.row.has(verb.name) {
			verb.try(twins)
		}
	}
	if w.row.has("deletecollection") {
		w.deleteCollection()
	}
	if w.row.has("watch") {
		w.compareEvents(seen)
	}
}

// twins returns twins that exist: created by the compared creations, or before them.
func (w *walk) twins() [2]twin {
	if w.row.has("create") && w.row.subresource == "" {
		return w.create()
	}
	twins := w.newTwins()
	if w.recipe.Name == "$(name)" || w.row.subresource != "" {
		for _, twin := range twins {
			w.makeTwin(twin, nil)
		}
		w.settle(twins)
	}
	if w.row.has("create") {
		w.createPart(twins)
	}
	return twins
}
