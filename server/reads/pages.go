package reads

import (
	"context"
	"crypto/sha256"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/joins"
	"github.com/kubeconnect/kubeconnect/server/sorted"
	"github.com/kubeconnect/kubeconnect/server/tokens"
)

const (
	// completeTimeout is the time that a list of several pages waits until all changes at its
	// version are known.
	completeTimeout = 3 * time.Second
	// maxListed bounds the objects of a page.
	maxListed = 1 << 15
	// maxListedBytes bounds the bytes of whole objects that are looked up for a page.
	maxListedBytes = 2 * encode.MaxPageBytes
)

// pagedList is a list that a page is taken from. It is owned by one call.
//
// It is made in three forms, and next knows where the page begins in each of them:
//
//   - the first page of a list: complete, with all objects;
//   - a later page of a list that must be sorted or reduced by owners, or that was read at the API server: complete,
//     with all objects, among which the last object of the page before is searched;
//   - a later page of a list in the default order, or of a list with cached names: only the objects after the page before.
//
// Sorting and hashing take long, so they are not done when the list is made, but in a processor slot: see arrange.
type pagedList struct {
	Result                // all objects of the list, or the objects after token.Last
	token    tokens.Page  // of the page
	first    bool         // the page is the list's first
	complete bool         // the snapshot has all objects of the list
	more     bool         // more objects follow those of the snapshot
	order    sorted.Order // the order that the objects are still to be sorted in
	hashed   bool         // the hash of the objects is still to be computed
	joined   *joins.Page  // nil for none; set by Lists.join
	relater  *Relater     // of joined; nil for none
}

// isPast reports whether an error means that a cache does not have the state at a version.
func isPast(err error) bool {
	return errors.Is(err, informerhub.ErrForgotten) || errors.Is(err, informerhub.ErrUndone)
}

// pageLimits returns the maximum number of objects in a page, and the maximum bytes of objects that
// are looked up.
func pageLimits(params listParams) (objects, bytes int) {
	objects, bytes = maxListed, maxListedBytes
	if params.pageSize > 0 {
		objects = min(params.pageSize, maxListed)
	}
	if params.view.Fields != nil {
		bytes = math.MaxInt // only pointers are kept
	}
	return objects, bytes
}

// memoryToSort estimates the memory to sort the list.
func (l *pagedList) memoryToSort() int { return memoryToSort(l.order, l.Snapshot.Objects) }

// isLongToSort reports whether arrange needs a processor slot.
func (l *pagedList) isLongToSort() bool {
	return l.order.Paths() > 0 && budget.IsLong(l.Snapshot.Objects) || l.hashed && len(l.Snapshot.Objects) > budget.ObjectsBetweenYields
}

// candidates returns the objects that the page is taken from: the next objects, or all objects of a
// list that is still to be sorted. The memory of a response is estimated from them before the list is sorted.
func (l *pagedList) candidates(pageSize int) []*informerhub.Object {
	if l.order.Paths() > 0 {
		return l.Snapshot.Objects
	}
	objects, _ := l.next()
	return onePage(objects, pageSize)
}

// onePage returns the objects that may be in a page.
func onePage(objects []*informerhub.Object, pageSize int) []*informerhub.Object {
	if pageSize > 0 && pageSize < len(objects) {
		return objects[:pageSize]
	}
	return objects
}

// arrange computes the hash of the list's objects and sorts them, where that is still to be done. Further calls do nothing.
func (l *pagedList) arrange(ctx context.Context) error {
	// The hash comes first: it is the hash of the default order, which sorting ends. A later page must have the hash of the
	// first page, because the version of the list does not determine its objects.
	if l.hashed {
		objects, err := hashObjects(ctx, l.Snapshot.Objects)
		if err != nil {
			return err
		}
		if l.hashed = false; !l.first && objects != l.token.Objects {
			return errPageChanged
		}
		l.token.Objects = objects
	}
	objects, err := sortObjects(ctx, l.order, l.Snapshot.Objects)
	if err != nil {
		return err
	}
	l.Snapshot.Objects, l.order = objects, sorted.Order{}
	return nil
}

// next returns the objects from the first object of the page. The list must be arranged. It fails if the last object of the page
// before is not in a list that should have it.
func (l *pagedList) next() ([]*informerhub.Object, error) {
	objects := l.Snapshot.Objects
	if l.first || !l.complete {
		return objects, nil
	}
	return itemsAfter(l.token, objects, func(object *informerhub.Object) informerhub.ObjectName {
		return informerhub.ObjectName{Namespace: object.Namespace(), Name: object.Name()}
	})
}

// itemsAfter returns the items of a list that follow the last object of a token. The number of objects that were left says where
// that object is, in a list that has not changed. Otherwise it is searched.
func itemsAfter[T any](token tokens.Page, list []T, nameOf func(T) informerhub.ObjectName) ([]T, error) {
	isLast := func(item T) bool {
		name := nameOf(item)
		return name.Name == token.Last.Name && name.Namespace == token.Last.Namespace
	}
	if at := len(list) - int(min(token.Left, uint64(len(list)))); at > 0 && isLast(list[at-1]) {
		return list[at:], nil
	}
	at := slices.IndexFunc(list, isLast)
	if at < 0 {
		return nil, errPageChanged
	}
	return list[at+1:], nil
}

// nextToken returns the token of the next page, after a page with the first added objects.
//
// The number of objects that are left is exact for a complete list. Otherwise it is counted down from the page before, but it
// is never less than the number of objects that are known to follow.
func (l *pagedList) nextToken(objects []*informerhub.Object, added int) tokens.Page {
	next, last := l.token, objects[added-1]
	next.Last = informerhub.ObjectName{Namespace: last.Namespace(), Name: last.Name()}
	next.Left = max(l.token.Left, uint64(added)) - uint64(added)
	rest := uint64(len(objects) - added)
	if l.more {
		rest++ // at least one more
	}
	if l.complete || next.Left < rest {
		next.Left = rest
	}
	return next
}

// hashObjects returns a hash of the names, UIDs and versions of objects, which are in the default
// order.
func hashObjects(ctx context.Context, objects []*informerhub.Object) (string, error) {
	hash := sha256.New()
	var line []byte
	for i, object := range objects {
		if err := budget.YieldEvery(ctx, i); err != nil {
			return "", err
		}
		line = line[:0]
		for _, text := range []string{object.Namespace(), object.Name(), object.UID(), object.ResourceVersion()} {
			line = tokens.AppendText(line, text)
		}
		hash.Write(line)
	}
	return string(hash.Sum(nil)[:tokens.HashBytes]), nil
}

// rowsFor returns the objects that can be in the page: at least all that fit. The list must be arranged.
func (l *pagedList) rowsFor(params listParams) ([]*informerhub.Object, error) {
	objects, err := l.next()
	if err != nil {
		return nil, err
	}
	limit, maxBytes := pageLimits(params)
	for i, object := range objects[:min(limit, len(objects))] {
		if maxBytes -= object.Size(); maxBytes < 0 {
			return objects[:i+1], nil
		}
	}
	return objects[:min(limit, len(objects))], nil
}
