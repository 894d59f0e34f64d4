package coverage_test

import (
	"strings"

	"connectrpc.com/connect/v2"
	"k8s.io/apimachinery/pkg/types"
)

// refused checks that the service rejects subresources that are not objects.
func (w *walk) refused() {
	twin := w.newTwin()
	w.makeTwin(twin, nil)
	for _, verb := range w.row.verbs {
		w.cells[verb].refused = true
		if verb == "delete" {
			continue // no request supports it
		}
		params := w.about(verb, twin)
		params.body = map[string]any{"metadata": map[string]any{"name": params.name}}
		params.patch, params.patchType = []byte("{}"), types.MergePatchType
		_, err := w.service.do(w.ctx, params)
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "is no object: use kubectl") {
			w.t.Errorf("%s of %s: %v", verb, w.row.name(), err)
		}
	}
}
