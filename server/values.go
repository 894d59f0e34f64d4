package server

import (
	"fmt"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
)

// valueReader reads the values of paths from objects. It is owned by one goroutine.
type valueReader struct {
	paths []mask.Path
	mask  *mask.Mask
	text  []byte // buffer for the next object
}

func newValueReader(paths []mask.Path) (*valueReader, error) {
	compiled, err := mask.Of(paths...)
	return &valueReader{paths: paths, mask: compiled}, err
}

// read calls visit with each scalar at a path, given by its index. It returns an error that names a
// path with a value that is not a scalar. An object that cannot be decoded has no values.
func (r *valueReader) read(object *informerhub.Object, visit func(path int, value scalar)) error {
	var err error
	if r.text, err = object.AppendMaskedJSON(r.text[:0], r.mask); err != nil {
		return nil
	}
	for i, path := range r.paths {
		path.Values(r.text, func(value []byte) {
			found, ok := scalarOf(value)
			if !ok {
				err = fmt.Errorf("%q is an object or a list in %s %q: give the path of a field in it", path, object.Kind().Kind, object.Name())
				return
			}
			visit(i, found)
		})
	}
	return err
}
