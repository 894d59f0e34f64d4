package server

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/scalar"
)

const (
	// maxOrderPaths bounds the paths that a list is ordered by.
	maxOrderPaths = 8
	// maxOrderBytes bounds the length of order_by.
	maxOrderBytes = 16 << 10
	// comparisonsBetweenYields is the number of comparisons between checks whether the client has
	// disconnected and whether another caller waits for a processor slot.
	comparisonsBetweenYields = 1024
)

// order is the order of a list: objects are compared by the first path in which they differ.
type order struct {
	paths      []mask.Path
	descending []bool // by path
}

// parseOrder parses ListRequest.order_by.
func parseOrder(text string) (order, error) {
	if text == "" {
		return order{}, nil
	}
	if len(text) > maxOrderBytes {
		return order{}, apierror.BadRequest("order_by is too long: give at most %d bytes", maxOrderBytes)
	}
	terms := cutTerms(text)
	if len(terms) > maxOrderPaths {
		return order{}, apierror.BadRequest("order_by has %d paths: give at most %d", len(terms), maxOrderPaths)
	}
	var o order
	for _, term := range terms {
		text, descending := cutDirection(strings.TrimSpace(term))
		path, err := mask.ParsePath(text)
		switch {
		case err != nil:
			return order{}, apierror.BadRequest("order_by: %v", err)
		case !path.IsSingle():
			return order{}, apierror.BadRequest("order_by: %q has several values: give a path with one value", text)
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

// row is an object that is being sorted.
type row struct {
	object *informerhub.Object
	keys   []scalar.Value
	place  int // index in the default order
}

// rowBytes and keyBytes estimate the memory of a row, and of each of its keys, while a list is
// sorted.
const rowBytes, keyBytes = 48, 64

// memoryFor estimates the memory to sort objects.
func (o order) memoryFor(objects []*informerhub.Object) int {
	if len(o.paths) == 0 {
		return 0
	}
	return len(objects) * (rowBytes + keyBytes*len(o.paths))
}

// sort returns objects, which are in the default order, in this order.
func (o order) sort(ctx context.Context, objects []*informerhub.Object) ([]*informerhub.Object, error) {
	if len(o.paths) == 0 {
		return objects, nil
	}
	rows, err := o.rows(ctx, objects)
	if err != nil {
		return nil, err
	}
	compared := 0
	slices.SortFunc(rows, func(a, b row) int {
		if compared++; err == nil && compared%comparisonsBetweenYields == 0 {
			err = fairqueue.Yield(ctx)
		}
		if err != nil {
			return 0 // ends the sort early
		}
		return o.compare(a, b)
	})
	if err != nil {
		return nil, err
	}
	sorted := make([]*informerhub.Object, len(rows))
	for i, row := range rows {
		sorted[i] = row.object
	}
	return sorted, nil
}

// compare is a total order of the rows.
func (o order) compare(a, b row) int {
	for i, descending := range o.descending {
		order := a.keys[i].Compare(b.keys[i])
		if descending {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return cmp.Compare(a.place, b.place)
}

// rows reads the sort keys of each object.
func (o order) rows(ctx context.Context, objects []*informerhub.Object) ([]row, error) {
	reader, err := scalar.NewReader(o.paths)
	if err != nil {
		return nil, apierror.BadRequest("order_by: %v", err)
	}
	rows := make([]row, len(objects))
	keys := make([]scalar.Value, len(objects)*len(o.paths))
	for i, object := range objects {
		if err := yieldEvery(ctx, i); err != nil {
			return nil, err
		}
		rows[i] = row{object, keys[:len(o.paths):len(o.paths)], i}
		keys = keys[len(o.paths):]
		if err := reader.Read(object, func(path int, value scalar.Value) { rows[i].keys[path] = value }); err != nil {
			return nil, apierror.BadRequest("order_by: %v", err)
		}
	}
	return rows, nil
}
