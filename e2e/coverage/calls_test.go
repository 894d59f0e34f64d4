package coverage_test

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// call is what the service and client-go are asked to do alike.
type call struct {
	verb            string
	of              row
	namespace, name string
	body            map[string]any // the object
	patch           []byte
	patchType       types.PatchType
	manager         string
	force           bool
	labels, fields  string
	uid             string // what a deletion wants

	// Of the service alone.
	since       string // the version that a read must have seen
	encoding    kubeconnectv1.Encoding
	consistency kubeconnectv1.Consistency
}

const (
	inJSON   = kubeconnectv1.Encoding_ENCODING_JSON
	protobuf = kubeconnectv1.Encoding_ENCODING_PROTOBUF
	latest   = kubeconnectv1.Consistency_CONSISTENCY_LATEST
)

// making makes a call about a twin.
type making func(twin) call

// with is the call with a change.
func (m making) with(change func(*call)) making {
	return func(of twin) call {
		asked := m(of)
		change(&asked)
		return asked
	}
}

// nobody is the name of no object, nor of a namespace.
const nobody = "nobody-is-called-so"

// unknown makes it about an object that is not there.
func unknown(asked *call) {
	asked.name = nobody
	asked.merge(metadata("name", nobody))
}

// elsewhere makes it about a namespace that is not there.
func elsewhere(asked *call) { asked.namespace = nobody }

// old gives its object a version that is not the cluster's any more.
func old(asked *call) { asked.merge(metadata("resourceVersion", "1")) }

// malformed gives its object a member that no object can have so. Errors show all of the
// object, so it has no managers, for they are in an order of times.
func malformed(asked *call) {
	asked.merge(map[string]any{"metadata": map[string]any{"labels": "none", "managedFields": nil}})
}

// invalid makes its object invalid, as the recipe says.
func (w *walk) invalid(asked *call) { asked.merge(variables{}.in(w.recipe.Invalid)) }

func (c *call) merge(patch map[string]any) {
	if c.body != nil {
		c.body = merged(c.body, patch)
	}
}

func metadata(name, value string) map[string]any {
	return map[string]any{"metadata": map[string]any{name: value}}
}

// encodings are those that a read is made in.
var encodings = map[string]kubeconnectv1.Encoding{"JSON": inJSON, "protobuf": protobuf}

// caller makes calls. What it is answered has the form of Kubernetes' JSON: an object, the
// items of a list, or how many objects were deleted.
type caller interface {
	do(context.Context, call) (any, error)
}
