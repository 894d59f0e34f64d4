package joins

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

const (
	// maxNameBytes bounds the strings that can be the name of an object.
	maxNameBytes = 253
	// maxNames bounds the values at a path of an object that are read as names.
	maxNames = 1000
)

// nameReader reads the names at a path of objects. It is owned by one goroutine.
type nameReader struct {
	path mask.Path
	mask *mask.Mask
	text []byte // buffer for the next object
	many noted  // objects with more than maxNames values
}

// each calls visit with the names at the path of an object: those among the first maxNames values. An
// object that cannot be decoded has none. The name is valid until visit returns.
func (r *nameReader) each(object *informerhub.Object, visit func(name []byte)) {
	var err error
	if r.text, err = object.AppendMaskedJSON(r.text[:0], r.mask); err != nil {
		return
	}
	values := 0
	r.path.Values(r.text, func(value []byte) {
		if values++; values > maxNames {
			return
		}
		if name, ok := nameIn(value); ok {
			visit(name)
		}
	})
	if values > maxNames {
		r.many.add(object, nil)
	}
}

// manyNames returns the objects of which not all names were read.
func (j *joining) manyNames() *noted {
	switch finder := j.finder.(type) {
	case *namedFinder:
		return &finder.reader.many
	case *namingFinder:
		return &finder.reader.many
	}
	return &noted{}
}

// nameIn returns the name that a JSON value is.
func nameIn(value []byte) (name []byte, ok bool) {
	if value[0] != '"' || len(value) > maxNameBytes+2 {
		return nil, false
	}
	name = value[1 : len(value)-1]
	if slices.Contains(name, '\\') {
		var text string
		if json.Unmarshal(value, &text) != nil {
			return nil, false
		}
		name = []byte(text)
	}
	return name, len(name) > 0
}

// NamedBy relates a row to the objects that it names at a path.
type NamedBy struct{ reader nameReader }

// Names relates a row to the objects that name it at a path.
type Names struct{ reader nameReader }

// NewNamedBy returns the relation for a path. Its error is meant for the caller.
func NewNamedBy(path mask.Path) (NamedBy, error) {
	fields, err := mask.Of(path)
	return NamedBy{nameReader{path: path, mask: fields}}, err
}

// NewNames returns the relation for a path. Its error is meant for the caller.
func NewNames(path mask.Path) (Names, error) {
	fields, err := mask.Of(path)
	return Names{nameReader{path: path, mask: fields}}, err
}

func (n NamedBy) begin(page *Page, related Related) finder {
	return &namedFinder{page: page, reader: n.reader, related: related}
}

type namedFinder struct {
	page    *Page
	reader  nameReader
	related Related
}

func (f *namedFinder) find(ctx context.Context, row *informerhub.Object) (objects []*informerhub.Object, err error) {
	f.reader.each(row, func(name []byte) {
		if err != nil {
			return
		}
		if err = f.page.examine(ctx); err != nil {
			return
		}
		if object := f.related.get(row, string(name)); object != nil {
			objects = append(objects, object)
		}
	})
	if len(objects) > 1 {
		slices.SortFunc(objects, func(a, b *informerhub.Object) int { return strings.Compare(a.Name(), b.Name()) })
		objects = slices.CompactFunc(objects, func(a, b *informerhub.Object) bool { return a.Name() == b.Name() })
	}
	return objects, err
}

func (n Names) begin(page *Page, related Related) finder {
	return &namingFinder{page: page, reader: n.reader, related: related, byNamespace: make(map[string]namingIndex)}
}

// namingFinder finds objects by the names at a path.
type namingFinder struct {
	page        *Page
	reader      nameReader
	related     Related
	byNamespace map[string]namingIndex // by the namespace of rows
	reserved    int                    // bytes that can be added to indexes before more are reserved
}

// namingIndex has the objects by the names at a path, in order.
type namingIndex map[string][]*informerhub.Object

const (
	// indexStep is the memory for indexes that is reserved at a time.
	indexStep = 1 << 20
	// indexNameBytes and indexObjectBytes estimate the memory of an index for a name, and for an
	// object with that name.
	indexNameBytes, indexObjectBytes = 96, 16
)

func (f *namingFinder) find(ctx context.Context, row *informerhub.Object) ([]*informerhub.Object, error) {
	index, ok := f.byNamespace[row.Namespace()]
	if !ok {
		if f.page.rows > 0 && f.page.indexed >= maxExamined {
			return nil, errFull
		}
		var err error
		if index, err = f.index(ctx, row); err != nil {
			return nil, err
		}
		f.byNamespace[row.Namespace()] = index
	}
	return index[row.Name()], nil
}

// index indexes the objects that may name rows in the namespace of a row.
func (f *namingFinder) index(ctx context.Context, row *informerhub.Object) (namingIndex, error) {
	selection, err := f.related.Cache.Select(ctx, f.related.queryFor(row))
	if err != nil {
		return nil, err
	}
	snapshot, err := f.related.Cache.List(ctx, selection)
	if err != nil {
		return nil, err
	}
	index := make(namingIndex)
	for i, object := range snapshot.Objects {
		if i%stepsBetweenYields == 0 {
			if err := fairqueue.Yield(ctx); err != nil {
				return nil, err
			}
		}
		f.page.indexed++
		if err := f.reserve(ctx, f.add(index, object)); err != nil {
			return nil, err
		}
	}
	return index, nil
}

// add adds an object to an index, and returns the number of bytes that the index has grown by.
func (f *namingFinder) add(index namingIndex, object *informerhub.Object) (bytes int) {
	f.reader.each(object, func(name []byte) {
		objects, known := index[string(name)]
		switch {
		case !known:
			bytes += indexNameBytes + len(name)
		case objects[len(objects)-1] == object:
			return
		}
		index[string(name)] = append(objects, object)
		bytes += indexObjectBytes
	})
	return bytes
}

func (f *namingFinder) reserve(ctx context.Context, bytes int) error {
	if f.reserved -= bytes; f.reserved >= 0 {
		return nil
	}
	steps := -f.reserved/indexStep + 1
	f.reserved += steps * indexStep
	return f.page.reserve(ctx, steps*indexStep)
}
