package mask

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/internal/listkey"
)

// Limits of a caller's paths.
const (
	maxPaths     = 256
	maxPathBytes = 16 << 10
)

// Mask is a set of fields of objects.
type Mask struct {
	root    *node
	paths   []Path // the paths of the root, in order
	parents bool
	head    string // beginning of JSON objects, if not empty: see As
	key     Key
}

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
	kept := root.paths(nil)
	root, err := join(root)
	return &Mask{root: root, paths: kept, key: Key{given: true, paths: listkey.OfFunc(kept, Path.Key)}}, err
}

// String returns the mask as text, which resume tokens contain as a hash. For nil, no mask, it is
// empty. What is shared inside the process is keyed by [Mask.Key] instead.
func (m *Mask) String() string {
	if m == nil {
		return ""
	}
	texts := make([]string, len(m.paths))
	for i, path := range m.paths {
		texts[i] = path.String()
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
	paths   listkey.Key[listkey.Key[Step]]
	parents bool
	kind    schema.GroupVersionKind // see As
}

// Key returns the key of the mask.
func (m *Mask) Key() Key {
	if m == nil {
		return Key{}
	}
	return m.key
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
