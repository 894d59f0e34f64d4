package server

import (
	"fmt"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
)

// valueReader reads the values of some paths from objects. It is owned by one goroutine.
type valueReader struct {
	paths []mask.Path
	mask  *mask.Mask
	text  []byte // room for the next object
}

func readerOf(paths []mask.Path) (*valueReader, error) {
	of, err := mask.Of(paths...)
	return &valueReader{paths: paths, mask: of}, err
}

// read calls visit with each value that a path, named by its place, leads to. The error
// names the path that leads to what is no scalar. An object that cannot be read has no
// values.
func (r *valueReader) read(object *informerhub.Object, visit func(path int, value scalar)) error {
	var err error
	if r.text, err = object.AppendMaskedJSON(r.text[:0], r.mask); err != nil {
		return nil
	}
	for i, path := range r.paths {
		path.Values(r.text, func(value []byte) {
			one, ok := scalarOf(value)
			if !ok {
				err = fmt.Errorf("%q leads to an object or a list in %s %q: name a field in it", path, object.Kind().Kind, object.Name())
				return
			}
			visit(i, one)
		})
	}
	return err
}
