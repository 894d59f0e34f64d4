package informerhub

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// ListAt returns the content of a selection at a position. It fails with ErrForgotten if the window
// does not reach back to the position, with ErrUndone, and with the errors of List.
func (c *scopeCache) ListAt(ctx context.Context, sel *Selection, at Position) (Snapshot, error) {
	if err := c.checkSelection(sel); err != nil {
		return Snapshot{}, err
	}
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	defer end()
	p := &pastState{cache: c, at: at}
	c.mu.RLock()
	pending, err := p.pendingLocked()
	if err != nil {
		c.mu.RUnlock()
		return Snapshot{}, err
	}
	found := candidates{runs: c.store.candidates(sel, nil)}
	c.mu.RUnlock()
	objects, err := found.merge(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	if err := p.include(ctx, pending); err != nil {
		return Snapshot{}, err
	}
	if objects, err = p.rewind.apply(ctx, sel, span{}, objects); err != nil {
		return Snapshot{}, err
	}
	return candidates{runs: [][]*Object{objects}, position: at, complete: true}.match(ctx, sel)
}

// ListBehind returns the content of a selection at a position, after an object, in order, and
// reports whether more objects follow. It returns at most limit objects, and stops before they have
// more than maxBytes, but returns at least one if there is one. It fails as ListAt does.
func (c *scopeCache) ListBehind(
	ctx context.Context, sel *Selection, at Position, after ObjectName, limit, maxBytes int,
) (found []*Object, more bool, err error) {
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return nil, false, err
	}
	defer end()
	p, filtering := &pastState{cache: c, at: at}, filtering{filter: sel.filter}
	part := limits{batch: min(max(limit+1, stepsBetweenYields), maxPastPart), partBytes: maxInt}
	for size := 0; ; {
		objects, last, err := p.next(ctx, sel, after, part)
		if err != nil {
			return nil, false, err
		}
		for i, object := range objects {
			if i%stepsBetweenYields == 0 {
				if err := fairqueue.Yield(ctx); err != nil {
					return nil, false, err
				}
			}
			keep, err := filtering.matches(ctx, sel, object)
			if err != nil {
				return nil, false, err
			}
			if !keep {
				continue
			}
			if size += object.Size(); len(found) >= limit || size > maxBytes && len(found) > 0 {
				return found, true, nil
			}
			found = append(found, object)
		}
		if last == nil {
			return found, false, nil
		}
		after = *last
	}
}

// ListNamed returns the objects with the given names at a position, in the order of the names. It
// stops before they have more than maxBytes, but returns at least one. It fails with ErrForgotten
// if there was no object with one of the names, and as ListAt does.
func (c *scopeCache) ListNamed(
	ctx context.Context, at Position, names []ObjectName, maxBytes int,
) (found []*Object, err error) {
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	p, size := &pastState{cache: c, at: at}, 0
	for part := range slices.Chunk(names, maxPastPart) {
		objects, err := p.byName(ctx, part)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			if object == nil {
				return nil, ErrForgotten
			}
			if size += object.Size(); size > maxBytes && len(found) > 0 {
				return found, nil
			}
			found = append(found, object)
		}
	}
	return found, nil
}

// Holds reports through its error whether the cache can reconstruct its state at a position: nil,
// ErrForgotten or ErrUndone.
func (c *scopeCache) Holds(at Position) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	switch _, known := c.feed.locateStep(at.Version); {
	case c.feed.undone(at):
		return ErrUndone
	case !known || object.Older(c.feed.reached(), at.Version):
		return ErrForgotten
	}
	return nil
}

// pastState reads the state of a cache at an earlier version: the present objects, with the later
// changes undone. The window has the object before each change, so the cost depends on the changes
// since the version was last read, and is zero while no caller requests the past. It is owned by
// one reader.
type pastState struct {
	cache  *scopeCache
	at     Position
	rewind *rewind // nil until the first read
}

// pendingLocked returns the changes up to the present that the rewind does not include yet. It
// fails with ErrForgotten or ErrUndone.
func (p *pastState) pendingLocked() ([]change, error) {
	feed := p.cache.feed
	switch {
	case feed.undone(p.at):
		return nil, ErrUndone
	case p.rewind == nil:
		seq, ok := feed.locateStep(p.at.Version)
		if !ok || object.Older(feed.reached(), p.at.Version) {
			return nil, ErrForgotten
		}
		p.rewind = p.cache.feed.rewinds.get(feed.epoch.id, seq)
	case feed.epoch.id != p.rewind.epoch || !feed.window.covers(p.rewind.through):
		return nil, ErrForgotten
	}
	pending := slices.Clone(feed.window.after(p.rewind.through))
	feed.examined.Add(int64(len(pending)))
	return pending, nil
}

// include extends the rewind by the changes that pendingLocked returned, for all readers of the
// version.
func (p *pastState) include(ctx context.Context, pending []change) error {
	if len(pending) == 0 {
		return nil
	}
	rewind, err := p.rewind.extend(ctx, pending)
	if err != nil {
		return err
	}
	p.rewind = rewind
	p.cache.feed.rewinds.put(rewind)
	return nil
}

const (
	// maxPastPart bounds the objects that are examined under one hold of the cache's lock.
	maxPastPart = 1024
	maxInt      = int(^uint(0) >> 1)
)

// next returns the next candidates of a selection after an object. last is the last of them if
// others follow, otherwise nil.
func (p *pastState) next(
	ctx context.Context, sel *Selection, after ObjectName, maximum limits,
) (objects []*Object, last *ObjectName, err error) {
	c := p.cache
	c.mu.RLock()
	pending, err := p.pendingLocked()
	if err != nil {
		c.mu.RUnlock()
		return nil, nil, err
	}
	present, all := c.store.next(sel, c.store.stepwise(sel), &after, maximum)
	c.mu.RUnlock()
	if !all {
		end := present[len(present)-1]
		last = &ObjectName{Namespace: strings.Clone(end.Namespace()), Name: strings.Clone(end.Name())}
	}
	if err := p.include(ctx, pending); err != nil {
		return nil, nil, err
	}
	objects, err = p.rewind.apply(ctx, sel, span{&after, last}, present)
	return objects, last, err
}

// byName returns the object of each name at the position; nil if there was none.
func (p *pastState) byName(ctx context.Context, names []ObjectName) ([]*Object, error) {
	objects := make([]*Object, len(names))
	p.cache.mu.RLock()
	pending, err := p.pendingLocked()
	for i, name := range names {
		objects[i] = p.cache.store.get(name.Namespace, name.Name)
	}
	p.cache.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	if err := p.include(ctx, pending); err != nil {
		return nil, err
	}
	for i, name := range names {
		if index, changed := p.rewind.find(name.Namespace, name.Name); changed {
			objects[i] = p.rewind.objects[index].object
		}
	}
	return objects, nil
}

// span is a range of objects in order: after one object, up to and including upTo. A nil bound is
// no bound.
type span struct{ after, upTo *ObjectName }

// objectName identifies an object. Its strings share the object's memory.
type objectName struct{ namespace, name string }

func nameOf(object *Object) objectName { return objectName{object.Namespace(), object.Name()} }

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
