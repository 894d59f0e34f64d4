package informerhub

import (
	"context"
	"slices"
	"sync"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// rewind is the difference between the state of a cache and its state at an earlier version: the
// objects that have changed since then. It is immutable, and shared by all readers of the version.
type rewind struct {
	epoch   uint64
	from    uint64           // sequence number of the last change up to the version
	through uint64           // sequence number of the last change that is included
	objects []earlierVersion // one for each changed object, in order
}

// earlierVersion is the state of an object at an earlier version.
type earlierVersion struct {
	changed *Object // has the object's namespace and name
	object  *Object // nil if the object did not exist
}

func compareEarlier(a, b earlierVersion) int { return compareObjects(a.changed, b.changed) }

// extend returns the rewind that includes the next changes too.
func (r *rewind) extend(ctx context.Context, changes []change) (*rewind, error) {
	if len(changes) == 0 {
		return r, nil
	}
	added := make(map[objectName]bool)
	var objects []earlierVersion
	for i, c := range changes {
		if i%stepsBetweenYields == 0 {
			if err := fairqueue.Yield(ctx); err != nil {
				return nil, err
			}
		}
		object := c.object()
		if _, ok := r.find(object.Namespace(), object.Name()); ok || added[nameOf(object)] {
			continue // only the first change of an object counts
		}
		added[nameOf(object)] = true
		objects = append(objects, earlierVersion{object, c.before})
	}
	slices.SortFunc(objects, compareEarlier)
	return &rewind{r.epoch, r.from, changes[len(changes)-1].seq, mergeEarlier(r.objects, objects)}, nil
}

// mergeEarlier merges two ordered lists of different objects.
func mergeEarlier(a, b []earlierVersion) []earlierVersion {
	if len(b) == 0 {
		return a
	}
	merged := make([]earlierVersion, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if compareEarlier(a[0], b[0]) < 0 {
			merged, a = append(merged, a[0]), a[1:]
		} else {
			merged, b = append(merged, b[0]), b[1:]
		}
	}
	return append(append(merged, a...), b...)
}

// find returns the index of an object's earlier version, or the index at which it would be.
func (r *rewind) find(namespace, name string) (index int, found bool) {
	return slices.BinarySearchFunc(r.objects, struct{}{}, func(e earlierVersion, _ struct{}) int {
		return e.changed.Compare(namespace, name)
	})
}

// within returns the earlier versions of the objects in a span.
func (r *rewind) within(span span) []earlierVersion {
	objects := r.objects
	if span.upTo != nil {
		end, found := r.find(span.upTo.Namespace, span.upTo.Name)
		if found {
			end++
		}
		objects = objects[:end]
	}
	if span.after != nil {
		start, found := r.find(span.after.Namespace, span.after.Name)
		if found {
			start++
		}
		objects = objects[min(start, len(objects)):]
	}
	return objects
}

// apply returns the candidates of a selection at the earlier version. present are the candidates
// now, in a span.
func (r *rewind) apply(ctx context.Context, sel *Selection, span span, present []*Object) ([]*Object, error) {
	earlier := r.within(span)
	if len(earlier) == 0 {
		return present, nil
	}
	objects := make([]*Object, 0, len(present)+len(earlier))
	for i := 0; len(present) > 0 || len(earlier) > 0; i++ {
		if i%stepsBetweenYields == 0 {
			if err := fairqueue.Yield(ctx); err != nil {
				return nil, err
			}
		}
		if len(earlier) == 0 || len(present) > 0 && compareObjects(present[0], earlier[0].changed) < 0 {
			objects, present = append(objects, present[0]), present[1:]
			continue
		}
		if len(present) > 0 && compareObjects(present[0], earlier[0].changed) == 0 {
			present = present[1:]
		}
		if object := earlier[0].object; object != nil && sel.canContain(object) {
			objects = append(objects, object)
		}
		earlier = earlier[1:]
	}
	return objects, nil
}

const (
	// maxRewinds and maxRewound bound the rewinds and their earlier versions of objects that a cache
	// retains.
	maxRewinds = 64
	maxRewound = 1 << 16

	bytesPerRewound = 16
)

// rewinds are the rewinds that were used last. They retain only objects that the window has. It is
// safe for concurrent use.
type rewinds struct {
	mu    sync.Mutex // guards the fields below
	used  []*rewind  // the last used one is at the end
	total int        // number of earlier versions in used
}

// get returns the rewind from a sequence number; a new one without changes if none is retained.
func (r *rewinds) get(epoch, from uint64) *rewind {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.used, func(other *rewind) bool { return other.epoch == epoch && other.from == from })
	if i < 0 {
		return &rewind{epoch: epoch, from: from, through: from}
	}
	found := r.used[i]
	r.used = append(slices.Delete(r.used, i, i+1), found)
	return found
}

// put retains a rewind in place of an older one from the same sequence number, and evicts those
// that have not been used for the longest time.
func (r *rewinds) put(extended *rewind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeLocked(func(other *rewind) bool { return other.epoch == extended.epoch && other.from == extended.from })
	r.used = append(r.used, extended)
	r.total += len(extended.objects)
	for r.total > maxRewound || len(r.used) > maxRewinds {
		r.total -= len(r.used[0].objects)
		r.used = slices.Delete(r.used, 0, 1)
	}
}

// size returns the size of the retained rewinds in bytes, without the objects, which the window has.
func (r *rewinds) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total * bytesPerRewound
}

// trim evicts the rewinds whose first change the window does not have any more.
func (r *rewinds) trim(feed *feed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeLocked(func(other *rewind) bool { return other.epoch != feed.epoch.id || !feed.window.covers(other.from) })
}

func (r *rewinds) removeLocked(evicted func(*rewind) bool) {
	r.used = slices.DeleteFunc(r.used, func(other *rewind) bool {
		if !evicted(other) {
			return false
		}
		r.total -= len(other.objects)
		return true
	})
}
