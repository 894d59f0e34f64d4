package sorted

import (
	"strings"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/internal/listkey"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/scalar"
)

const (
	// maxPaths bounds the paths of an order.
	maxPaths = 8
	// maxTextBytes bounds the length of an order's text.
	maxTextBytes = 16 << 10
)

// Order compares objects by the first path in which they differ. It is immutable. The zero Order has
// no paths: all objects are equal.
type Order struct {
	paths      []mask.Path
	descending []bool // by path
}

// Parse parses the text of ListRequest.order_by. It returns a BadRequest error if it is invalid.
func Parse(text string) (Order, error) {
	if text == "" {
		return Order{}, nil
	}
	if len(text) > maxTextBytes {
		return Order{}, apierror.BadRequest("order_by is too long: give at most %d bytes", maxTextBytes)
	}
	terms := cutTerms(text)
	if len(terms) > maxPaths {
		return Order{}, apierror.BadRequest("order_by has %d paths: give at most %d", len(terms), maxPaths)
	}
	var o Order
	for _, term := range terms {
		text, descending := cutDirection(strings.TrimSpace(term))
		path, err := mask.ParsePath(text)
		switch {
		case err != nil:
			return Order{}, apierror.BadRequest("order_by: %v", err)
		case !path.IsSingle():
			return Order{}, apierror.BadRequest("order_by: %q has several values: give a path with one value", text)
		}
		o.paths, o.descending = append(o.paths, path), append(o.descending, descending)
	}
	return o, nil
}

// cutTerms splits text at the commas that are not quoted.
func cutTerms(text string) (terms []string) {
	start, quote := 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ',':
			terms, start = append(terms, text[start:i]), i+1
		}
	}
	return append(terms, text[start:])
}

// cutDirection splits "asc" or "desc" off a term.
func cutDirection(term string) (path string, descending bool) {
	at := strings.LastIndexAny(term, " \t\n") + 1
	switch strings.ToLower(term[at:]) {
	case "asc":
		return strings.TrimSpace(term[:at]), false
	case "desc":
		return strings.TrimSpace(term[:at]), true
	}
	return term, false
}

// Paths returns the number of paths.
func (o Order) Paths() int { return len(o.paths) }

// OrderKey identifies an order. It is comparable.
type OrderKey struct {
	paths      listkey.Key[listkey.Key[mask.Step]]
	descending listkey.Key[bool]
}

// Key returns the key of the order, which is equal for equal orders only.
func (o Order) Key() OrderKey {
	return OrderKey{listkey.OfFunc(o.paths, mask.Path.Key), listkey.Of(o.descending)}
}

// String returns the order as text, which tokens contain as a hash.
func (o Order) String() string {
	var terms []string
	for i, path := range o.paths {
		direction := ""
		if o.descending[i] {
			direction = " desc"
		}
		terms = append(terms, path.String()+direction)
	}
	return strings.Join(terms, ",")
}

// Compare compares the keys of two objects.
func (o Order) Compare(a, b []scalar.Value) int {
	for i, descending := range o.descending {
		order := a[i].Compare(b[i])
		if descending {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return 0
}

// KeyReader reads the keys of objects, by which they are compared. It is owned by one goroutine.
type KeyReader struct {
	order  Order
	reader *scalar.Reader // nil if the order has no paths
}

// KeyReader returns a reader of the keys of objects.
func (o Order) KeyReader() (*KeyReader, error) {
	if len(o.paths) == 0 {
		return &KeyReader{}, nil
	}
	reader, err := scalar.NewReader(o.paths)
	if err != nil {
		return nil, apierror.BadRequest("order_by: %v", err)
	}
	return &KeyReader{o, reader}, nil
}

// Bytes returns the memory of the buffers that the reader keeps.
func (r *KeyReader) Bytes() int {
	if r.reader == nil {
		return 0
	}
	return r.reader.Bytes()
}

// Read reads the keys of an object, one for each path. Of long strings only the bytes that are compared are
// keys. It returns a BadRequest error if a value is an
// object or a list.
func (r *KeyReader) Read(object *informerhub.Object, keys []scalar.Value) error {
	if r.reader == nil {
		return nil
	}
	if err := r.reader.Read(object, func(path int, value scalar.Value) { keys[path] = value.Compared() }); err != nil {
		return apierror.BadRequest("order_by: %v", err)
	}
	return nil
}
