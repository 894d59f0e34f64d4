package mask

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Limits of a caller's paths.
const (
	maxPaths     = 256
	maxPathBytes = 16 << 10
)

// Mask is a set of fields of objects.
type Mask struct {
	root    *node
	text    string
	parents bool
	head    string // beginning of JSON objects, if not empty: see As
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
	text := textOf(root)
	root, err := join(root)
	return &Mask{root: root, text: text}, err
}

func textOf(root *node) string {
	var texts []string
	for _, path := range root.paths(nil) {
		texts = append(texts, path.String())
	}
	return strings.Join(texts, ",")
}

// String identifies the mask: it is equal for equal paths in any order and notation. For nil, no
// mask, it is empty.
func (m *Mask) String() string {
	switch {
	case m == nil:
		return ""
	case m.parents:
		return m.head + m.text + ",..."
	}
	return m.head + m.text
}

// As returns the mask with which the JSON of objects names another kind. Its paths must lead to
// members other than apiVersion and kind.
func (m *Mask) As(kind schema.GroupVersionKind) *Mask {
	apiVersion, name := kind.ToAPIVersionAndKind()
	masked := *m
	masked.head = fmt.Sprintf(`{"kind":%q,"apiVersion":%q`, name, apiVersion)
	return &masked
}

// KeepingParents returns the mask that also keeps all values that its paths lead through, even if
// they lead no further: objects and lists without their unselected contents, and other values as
// they are.
func (m *Mask) KeepingParents() *Mask {
	masked := *m
	masked.parents = true
	return &masked
}
