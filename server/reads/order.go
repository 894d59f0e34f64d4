package reads

import (
	"cmp"
	"context"
	"slices"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/scalar"
	"github.com/kubeconnect/kubeconnect/server/sorted"
)

// comparisonsBetweenYields is the number of comparisons between checks whether the client has
// disconnected and whether another caller waits for a processor slot. A comparison of long strings takes
// tens of microseconds.
const comparisonsBetweenYields = 32

// row is an object that is being sorted.
type row struct {
	object *informerhub.Object
	keys   []scalar.Value // read once, because a comparison must not decode objects
	place  int            // index in the default order; it decides between equal keys
}

const (
	// rowBytes estimates the memory of a row without its keys.
	rowBytes = 48
	// keysStep is how much more memory is reserved when the keys have grown by it.
	keysStep = 1 << 20
)

// memoryToSort estimates the memory to sort objects in an order. Reading the keys reserves more for their
// strings.
func memoryToSort(order sorted.Order, objects []*informerhub.Object) int {
	if order.Paths() == 0 {
		return 0
	}
	return len(objects) * (rowBytes + scalar.ValueBytes*order.Paths())
}

// sortObjects returns objects, which are in the default order, in an order. The sorted slice is a new slice: objects may be shared
// with a cache. Every replica sorts the same objects in the same way, so that any replica can continue a list.
func sortObjects(ctx context.Context, order sorted.Order, objects []*informerhub.Object) ([]*informerhub.Object, error) {
	if order.Paths() == 0 {
		return objects, nil
	}
	rows, err := rowsOf(ctx, order, objects)
	if err != nil {
		return nil, err
	}
	// The comparison yields, because it is the only part of a sort that the caller controls.
	compared := 0
	slices.SortFunc(rows, func(a, b row) int {
		if compared++; err == nil && compared%comparisonsBetweenYields == 0 {
			err = fairqueue.Yield(ctx)
		}
		if err != nil {
			return 0 // ends the sort early
		}
		return cmp.Or(order.Compare(a.keys, b.keys), cmp.Compare(a.place, b.place))
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

// rowsOf reads the sort keys of each object, and reserves memory for them.
func rowsOf(ctx context.Context, order sorted.Order, objects []*informerhub.Object) ([]row, error) {
	reader, err := order.KeyReader()
	if err != nil {
		return nil, err
	}
	// The keys of all rows are in one slice, which saves an allocation for each row.
	rows := make([]row, len(objects))
	keys := make([]scalar.Value, len(objects)*order.Paths())
	unreserved := 0 // bytes of keys
	for i, object := range objects {
		if err := fairqueue.Yield(ctx); err != nil { // at each object: its strings can be long
			return nil, err
		}
		rows[i] = row{object, keys[:order.Paths():order.Paths()], i}
		keys = keys[order.Paths():]
		if err := reader.Read(object, rows[i].keys); err != nil {
			return nil, err
		}
		for _, key := range rows[i].keys {
			unreserved += key.Bytes() - scalar.ValueBytes
		}
		if unreserved >= keysStep {
			if err := budget.ReserveMore(ctx, unreserved); err != nil {
				return nil, err
			}
			unreserved = 0
		}
	}
	return rows, nil
}
