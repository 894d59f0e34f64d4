package scalar

import (
	"bytes"
	"fmt"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
)

// Reader reads the values of paths from objects. It is owned by one goroutine.
type Reader struct {
	paths []mask.Path
	mask  *mask.Mask
	text  []byte // buffer for the next object
	other []byte // buffer for an object that it is compared with
}

// NewReader returns a reader of the values of paths.
func NewReader(paths []mask.Path) (*Reader, error) {
	compiled, err := mask.Of(paths...)
	return &Reader{paths: paths, mask: compiled}, err
}

// Copy returns a reader of the same paths for another goroutine.
func (r *Reader) Copy() *Reader { return &Reader{paths: r.paths, mask: r.mask} }

// CompositeError is the error for a value that is an object or a list.
type CompositeError struct {
	Path    int // index of the value's path
	message string
}

func (e *CompositeError) Error() string { return e.message }

// Read calls visit with each scalar at a path, given by its index. It returns a *CompositeError that
// names a path with a value that is not a scalar. An object that cannot be decoded has no values.
func (r *Reader) Read(object *informerhub.Object, visit func(path int, value Value)) error {
	var err error
	if r.text, err = object.AppendMaskedJSON(r.text[:0], r.mask); err != nil {
		return nil
	}
	for i, path := range r.paths {
		path.Values(r.text, func(value []byte) {
			found, ok := Parse(value)
			if !ok {
				err = &CompositeError{i, fmt.Sprintf("%q is an object or a list in %s %q: give the path of a field in it", path, object.Kind().Kind, object.Name())}
				return
			}
			visit(i, found)
		})
	}
	return err
}

// ReadsSame reports whether two objects certainly have the same values at all paths.
func (r *Reader) ReadsSame(a, b *informerhub.Object) bool {
	var err, otherErr error
	r.text, err = a.AppendMaskedJSON(r.text[:0], r.mask)
	r.other, otherErr = b.AppendMaskedJSON(r.other[:0], r.mask)
	return err == nil && otherErr == nil && bytes.Equal(r.text, r.other)
}
