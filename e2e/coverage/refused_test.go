package coverage_test

import (
	"strings"

	"connectrpc.com/connect"
	"k8s.io/apimachinery/pkg/types"
)

// refused checks that the service rejects subresources that are not objects.
func (w *walk) refused() {
	of := w.newTwin()
	w.makeTwin(of, nil)
	for _, verb := range w.row.verbs {
		w.cells[verb].refused = true
		if verb == "delete" {
			continue // no request supports it
		}
		asked := w.about(verb, of)
		asked.body = map[string]any{"metadata": map[string]any{"name": asked.name}}
		asked.patch, asked.patchType = []byte("{}"), types.MergePatchType
		_, err := w.service.do(w.ctx, asked)
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "is no object: use kubectl") {
			w.t.Errorf("%s of %s: %v", verb, w.row.name(), err)
		}
	}
}
