package scalar

import (
	"bytes"
	"fmt"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
)

const (
	// MaxValues bounds the values of one object at a path.
	MaxValues = 10_000
	// maxBuffer bounds the buffers that a reader keeps for the next object.
	maxBuffer = 64 << 10
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

// Bytes returns the memory of the buffers that the reader keeps.
func (r *Reader) Bytes() int { return cap(r.text) + cap(r.other) }

// ValuesError is the error for a path that leads to an object, to a list, or to too many values.
type ValuesError struct {
	Path    int // index of the path
	message string
}

func (e *ValuesError) Error() string { return e.message }

// Read calls visit with each scalar at a path, given by its index. It returns a *ValuesError that
// names a path with a value that is not a scalar, or with more than MaxValues values. An object that
// cannot be decoded has no values.
func (r *Reader) Read(object *informerhub.Object, visit func(path int, value Value)) error {
	defer r.dropLargeBuffers()
	var err error
	if r.text, err = object.AppendMaskedJSON(r.text[:0], r.mask); err != nil {
		return nil
	}
	for i := range r.paths {
		if err := r.readPath(object, i, visit); err != nil {
			return err
		}
	}
	return nil
}

// readPath calls visit with each scalar at one path of an object, whose JSON is in r.text.
func (r *Reader) readPath(object *informerhub.Object, i int, visit func(path int, value Value)) (err error) {
	count := 0
	r.paths[i].Values(r.text, func(value []byte) {
		if err != nil {
			return
		}
		found, ok := Parse(value)
		switch count++; {
		case !ok:
			err = &ValuesError{i, fmt.Sprintf("%q is an object or a list in %s %q: give the path of a field in it", r.paths[i], object.Kind().Kind, object.Name())}
		case count > MaxValues:
			err = &ValuesError{i, fmt.Sprintf("%q has more than %d values in %s %q: give a path with fewer values", r.paths[i], MaxValues, object.Kind().Kind, object.Name())}
		default:
			visit(i, found)
		}
	})
	return err
}

// ReadsSame reports whether two objects certainly have the same values at all paths.
func (r *Reader) ReadsSame(a, b *informerhub.Object) bool {
	defer r.dropLargeBuffers()
	var err, otherErr error
	r.text, err = a.AppendMaskedJSON(r.text[:0], r.mask)
	r.other, otherErr = b.AppendMaskedJSON(r.other[:0], r.mask)
	return err == nil && otherErr == nil && bytes.Equal(r.text, r.other)
}

func (r *Reader) dropLargeBuffers() {
	if cap(r.text) > maxBuffer {
		r.text = nil
	}
	if cap(r.other) > maxBuffer {
		r.other = nil
	}
}
