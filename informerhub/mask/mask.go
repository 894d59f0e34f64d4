package mask

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What a caller may write.
const (
	maxPaths     = 256
	maxPathBytes = 16 << 10
)

// Mask is some of the fields of objects.
type Mask struct {
	root    *node
	text    string
	parents bool
	head    string // what JSON begins with, if anything: see As
}

// Parse understands paths as a caller writes them: see [ParsePath]. It bounds their
// number and size. No paths are no mask, nil. The error names the path that is wrong, and
// says what to do.
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

// Of is the mask of some paths. The order does not matter, and of two paths, one of which
// begins with the other, the shorter one counts. The error says that there are too many
// ways in which names and [*] lead to the same fields.
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

// String tells masks apart: it is the same for the same paths, in whatever order and
// notation. Of nil, which stands for no mask, it is empty.
func (m *Mask) String() string {
	switch {
	case m == nil:
		return ""
	case m.parents:
		return m.head + m.text + ",..."
	}
	return m.head + m.text
}

// As is the mask under which objects say of themselves in JSON that they are of another
// kind. Its paths must lead to members of objects other than apiVersion and kind.
func (m *Mask) As(kind schema.GroupVersionKind) *Mask {
	apiVersion, name := kind.ToAPIVersionAndKind()
	as := *m
	as.head = fmt.Sprintf(`{"kind":%q,"apiVersion":%q`, name, apiVersion)
	return &as
}

// KeepingParents is the mask that keeps also whatever its paths lead through, even where
// they lead no further: objects and lists without what is not under the mask, and what is
// neither as it is.
func (m *Mask) KeepingParents() *Mask {
	with := *m
	with.parents = true
	return &with
}
