package coverage_test

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// call is a call that is made both through the service and with client-go.
type call struct {
	verb            string
	row             row
	namespace, name string
	body            map[string]any // the object to send
	patch           []byte
	patchType       types.PatchType
	manager         string
	force           bool
	labels, fields  string
	uid             string // the UID precondition of a deletion

	// Only for the service.
	since       string // min_resource_version of a read
	encoding    kubeconnectv1.Encoding
	consistency kubeconnectv1.Consistency
}

const (
	inJSON   = kubeconnectv1.Encoding_ENCODING_JSON
	protobuf = kubeconnectv1.Encoding_ENCODING_PROTOBUF
	latest   = kubeconnectv1.Consistency_CONSISTENCY_LATEST
)

// making returns a call about a twin.
type making func(twin) call

// with returns making with a change to its calls.
func (m making) with(change func(*call)) making {
	return func(twin twin) call {
		params := m(twin)
		change(&params)
		return params
	}
}

// nobody is a name that no object and no namespace has.
const nobody = "nobody-is-called-so"

// unknown makes the call about an object that does not exist.
func unknown(params *call) {
	params.name = nobody
	params.merge(metadata("name", nobody))
}

// elsewhere makes the call about a namespace that does not exist.
func elsewhere(params *call) { params.namespace = nobody }

// old gives the object an outdated version.
func old(params *call) { params.merge(metadata("resourceVersion", "1")) }

// malformed gives the object a member of a wrong type. Errors contain the complete object, so
// managedFields are removed, because their order depends on times.
func malformed(params *call) {
	params.merge(map[string]any{"metadata": map[string]any{"labels": "none", "managedFields": nil}})
}

// invalid makes the object invalid, as the recipe defines.
func (w *walk) invalid(params *call) { params.merge(variables{}.substitute(w.recipe.Invalid)) }

func (c *call) merge(patch map[string]any) {
	if c.body != nil {
		c.body = merged(c.body, patch)
	}
}

func metadata(name, value string) map[string]any {
	return map[string]any{"metadata": map[string]any{name: value}}
}

// encodings are the encodings in which each read is made.
var encodings = map[string]kubeconnectv1.Encoding{"JSON": inJSON, "protobuf": protobuf}

// caller makes calls. The response has the form of Kubernetes' JSON: an object, the items of a
// list, or the number of deleted objects.
type caller interface {
	do(context.Context, call) (any, error)
}
