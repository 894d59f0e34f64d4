package scalar

import (
	"fmt"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
)

// Reader reads the values of paths from objects. It is owned by one goroutine.
type Reader struct {
	paths []mask.Path
	mask  *mask.Mask
	text  []byte // buffer for the next object
}

// NewReader returns a reader of the values of paths.
func NewReader(paths []mask.Path) (*Reader, error) {
	compiled, err := mask.Of(paths...)
	return &Reader{paths: paths, mask: compiled}, err
}

// Read calls visit with each scalar at a path, given by its index. It returns an error that names a
// path with a value that is not a scalar. An object that cannot be decoded has no values.
func (r *Reader) Read(object *informerhub.Object, visit func(path int, value Value)) error {
	var err error
	if r.text, err = object.AppendMaskedJSON(r.text[:0], r.mask); err != nil {
		return nil
	}
	for i, path := range r.paths {
		path.Values(r.text, func(value []byte) {
			found, ok := Parse(value)
			if !ok {
				err = fmt.Errorf("%q is an object or a list in %s %q: give the path of a field in it", path, object.Kind().Kind, object.Name())
				return
			}
			visit(i, found)
		})
	}
	return err
}
