package mask

import (
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/internal/listkey"
)

// Limits of a caller's paths.
const (
	maxPaths     = 128
	maxPathBytes = 4 << 10
)

// Mask is a set of fields of objects.
type Mask struct {
	root    *node
	paths   func() []Path // in order, without those that begin with another one
	parents bool
	head    string // beginning of JSON objects, if not empty: see As
	key     Key    // without paths
	pathKey func() pathsKey
}

type pathsKey = listkey.Key[listkey.Key[Step]]

// Parse parses paths of a caller: see [ParsePath]. It bounds their number and size. For no paths it
// returns no mask, nil. The error contains the wrong path and the correction.
func Parse(texts []string) (*Mask, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	if len(texts) > maxPaths {
		return nil, fmt.Errorf("%d paths are too many: %d is the most", len(texts), maxPaths)
	}
	bytes := 0
	paths := make([]Path, len(texts))
	for i, text := range texts {
		if bytes += len(text); bytes > maxPathBytes {
			return nil, fmt.Errorf("the paths are too long: %d bytes is the most for all of them", maxPathBytes)
		}
		var err error
		if paths[i], err = ParsePath(text); err != nil {
			return nil, err
		}
	}
	return Of(paths...)
}

// Of returns the mask of some paths. Their order does not matter. If one path is the beginning of
// another, only the shorter one counts. Of fails if there are too many combinations of names and
// [*] for the same fields.
func Of(paths ...Path) (*Mask, error) {
	root := &node{}
	for _, path := range paths {
		root.add(path)
	}
	joined, err := join(root)
	if err != nil {
		return nil, err
	}
	kept := func() []Path { return root.paths(nil) }
	return &Mask{
		root: joined, paths: kept, key: Key{given: true},
		pathKey: sync.OnceValue(func() pathsKey { return listkey.OfFunc(kept(), Path.Key) }),
	}, nil
}

// String returns the mask as text, which resume tokens contain as a hash. For nil, no mask, it is
// empty. What is shared inside the process is keyed by [Mask.Key] instead.
func (m *Mask) String() string {
	if m == nil {
		return ""
	}
	var texts []string
	for _, path := range m.paths() {
		texts = append(texts, path.String())
	}
	text := m.head + strings.Join(texts, ",")
	if m.parents {
		text += ",..."
	}
	return text
}

// Key identifies what a mask does: masks with equal keys have the same result for every object,
// whatever the order and the notation of their paths. The zero Key is that of nil, no mask.
type Key struct {
	given   bool // there is a mask
	paths   pathsKey
	parents bool
	kind    schema.GroupVersionKind // see As
}

// Key returns the key of the mask. It is made at the first call.
func (m *Mask) Key() Key {
	if m == nil {
		return Key{}
	}
	key := m.key
	key.paths = m.pathKey()
	return key
}

// As returns the mask with which the JSON of objects names another kind. Its paths must lead to
// members other than apiVersion and kind.
func (m *Mask) As(kind schema.GroupVersionKind) *Mask {
	apiVersion, name := kind.ToAPIVersionAndKind()
	masked := *m
	masked.head = fmt.Sprintf(`{"kind":%q,"apiVersion":%q`, name, apiVersion)
	masked.key.kind = kind
	return &masked
}

// KeepingParents returns the mask that also keeps all values that its paths lead through, even if
// they lead no further: objects and lists without their unselected contents, and other values as
// they are.
func (m *Mask) KeepingParents() *Mask {
	masked := *m
	masked.parents, masked.key.parents = true, true
	return &masked
}
