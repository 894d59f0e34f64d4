package informerhub

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// pastState reads the state of a cache at an earlier version: the present objects, with the later
// changes undone. The window has the object before each change, so the cost depends on the changes
// since the version was last read, and is zero while no caller requests the past. It is owned by
// one reader.
type pastState struct {
	cache  *Cache
	at     Position
	rewind *rewind // nil until the first read
}

// objectName identifies an object. Its strings share the object's memory.
type objectName struct{ namespace, name string }

func nameOf(object *Object) objectName { return objectName{object.Namespace(), object.Name()} }

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

// span is a range of objects in order: after one object, up to and including upTo. A nil bound is
// no bound.
type span struct{ after, upTo *ObjectName }

// ListAt returns the content of a selection at a position. It fails with ErrForgotten if the window
// does not reach back to the position, with ErrUndone, and with the errors of List.
func (c *Cache) ListAt(ctx context.Context, sel *Selection, at Position) (Snapshot, error) {
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
// reports whether more objects follow. It returns at most most objects, and stops before they have
// more than mostBytes, but returns at least one if there is one. It fails as ListAt does.
func (c *Cache) ListBehind(
	ctx context.Context, sel *Selection, at Position, after ObjectName, limit, mostBytes int,
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
			if size += object.Size(); len(found) >= limit || size > mostBytes && len(found) > 0 {
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

// ListNamed returns the objects with the given names at a position, in the order of the names. It
// stops before they have more than mostBytes, but returns at least one. It fails with ErrForgotten
// if there was no object with one of the names, and as ListAt does.
func (c *Cache) ListNamed(
	ctx context.Context, at Position, names []ObjectName, mostBytes int,
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
			if size += object.Size(); size > mostBytes && len(found) > 0 {
				return found, nil
			}
			found = append(found, object)
		}
	}
	return found, nil
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

// Holds reports through its error whether the cache can reconstruct its state at a position: nil,
// ErrForgotten or ErrUndone.
func (c *Cache) Holds(at Position) error {
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

// incompletePause is the time for which AwaitComplete does not wait after it has waited in vain:
// the API server cannot be asked then.
const incompletePause = 10 * time.Second

// AwaitComplete blocks until the cache has every change at a version, for at most patience. It
// reports whether the cache has them: there may be more deletions at the version of the last one.
// It does not wait if it has waited in vain in the last ten seconds.
func (c *Cache) AwaitComplete(ctx context.Context, version string, patience time.Duration) (bool, error) {
	if time.Now().UnixNano() < c.incompleteUntil.Load() {
		advanced, err := c.incomplete(version)
		return advanced == nil && err == nil, err
	}
	complete, err := c.awaitUntil(ctx, patience, c.askState, func() (<-chan struct{}, error) { return c.incomplete(version) })
	if !complete && err == nil {
		c.incompleteUntil.Store(time.Now().Add(incompletePause).UnixNano())
	}
	return complete, err
}

// incomplete returns a channel that is closed when the cache advances; nil if the cache has every
// change at a version.
func (c *Cache) incomplete(version string) (<-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.ended != nil {
		return nil, c.state.ended
	}
	if c.feed.isComplete(version) {
		return nil, nil
	}
	return c.feed.nextVersion(), nil
}

// aheadPatience is the time to wait for a position before the API server is asked whether it has
// reached that position.
const aheadPatience = time.Second

// AwaitPosition blocks as Await does, and fails with ErrUndone for a position of another history.
func (c *Cache) AwaitPosition(ctx context.Context, at Position, patience time.Duration) error {
	if c.undone(at) {
		return ErrUndone
	}
	if reached, err := c.await(ctx, at.Version, min(aheadPatience, patience)); reached || err != nil {
		return err
	}
	been, err := c.hasReached(ctx, at.Version)
	if advanced, _ := c.notAt(at.Version); err == nil && !been && advanced != nil {
		return ErrUndone
	}
	return c.Await(ctx, at.Version, patience)
}
