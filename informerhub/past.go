package informerhub

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// ErrForgotten is the error for a version whose state the cache can no longer reconstruct.
var ErrForgotten = errors.New("the cache does not reach back to this version")

// ErrUndone is the error for a version of a history that has been undone.
var ErrUndone = errors.New("this version is of a history that has been undone")

// past is the state of a cache at an earlier version: the present objects, with the later changes
// undone. The window has the object before each change, so the cost depends on the changes since
// then, and is zero while no caller requests the past. It is owned by one reader.
type past struct {
	cache *Cache
	at    Position

	begun   bool
	epoch   uint64   // of the feed
	through uint64   // sequence number of the last change
	changes []change // changes since the position, in order
}

// objectName identifies an object. Its strings share the object's memory.
type objectName struct{ namespace, name string }

func nameOf(object *Object) objectName { return objectName{object.namespace, object.name} }

func (c *Cache) past(at Position) *past { return &past{cache: c, at: at} }

// catchUpLocked collects the changes up to the present that must be undone. It fails with
// ErrForgotten or ErrUndone.
func (p *past) catchUpLocked() error {
	feed := p.cache.feed
	switch {
	case feed.undone(p.at):
		return ErrUndone
	case !p.begun:
		seq, ok := feed.locateStep(p.at.Version)
		if !ok || older(feed.version, p.at.Version) {
			return ErrForgotten
		}
		p.begun, p.epoch, p.through = true, feed.epoch.id, seq
	case feed.epoch.id != p.epoch || !feed.window.covers(p.through):
		return ErrForgotten
	}
	changes := feed.window.after(p.through)
	feed.examined.Add(int64(len(changes)))
	p.changes, p.through = append(p.changes, changes...), feed.last
	return nil
}

// span is a range of objects in order: after one object, up to and including upTo. A nil bound is
// no bound.
type span struct{ after, upTo *ObjectName }

func (s span) has(object *Object) bool {
	return !s.after.passed(object) && (s.upTo == nil || s.upTo.passed(object))
}

// undo undoes the changes of the objects in a span. present are the candidates of a selection now;
// undo returns the candidates at the earlier version.
func (p *past) undo(ctx context.Context, sel *Selection, span span, present []*Object) ([]*Object, error) {
	before := make(map[objectName]bool)
	var held []*Object
	for i := range p.changes {
		if i%stepsBetweenYields == 0 {
			if err := fairqueue.Yield(ctx); err != nil {
				return nil, err
			}
		}
		object := p.changes[i].object()
		if !span.has(object) || before[nameOf(object)] {
			continue
		}
		before[nameOf(object)] = true // only the first change of an object counts
		if was := p.changes[i].before; was != nil && sel.canContain(was) {
			held = append(held, was)
		}
	}
	if len(before) == 0 {
		return present, nil
	}
	sortObjects(held)
	unchanged := make([]*Object, 0, len(present))
	for _, object := range present {
		if !before[nameOf(object)] {
			unchanged = append(unchanged, object)
		}
	}
	return mergeTwo(ctx, [][]*Object{unchanged, held})
}

// ListAt returns the content of a selection at a position. It fails with ErrForgotten if the window
// does not reach back to the position, with ErrUndone, and with the errors of List.
func (c *Cache) ListAt(ctx context.Context, sel *Selection, at Position) (Snapshot, error) {
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	defer end()
	p := c.past(at)
	c.mu.RLock()
	err = p.catchUpLocked()
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
	if objects, err = p.undo(ctx, sel, span{}, objects); err != nil {
		return Snapshot{}, err
	}
	return candidates{runs: [][]*Object{objects}, position: at, complete: true}.match(ctx, sel)
}

// ListBehind returns the content of a selection at a position, after an object, in order, and
// reports whether more objects follow. It returns at most most objects, and stops before they have
// more than mostBytes, but returns at least one if there is one. It fails as ListAt does.
func (c *Cache) ListBehind(
	ctx context.Context, sel *Selection, at Position, after ObjectName, most, mostBytes int,
) (found []*Object, more bool, err error) {
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return nil, false, err
	}
	defer end()
	p, filtering := c.past(at), filtering{filter: sel.filter}
	part := limits{batch: min(max(most+1, stepsBetweenYields), maxPastPart), partBytes: maxInt}
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
			if size += object.Size(); len(found) >= most || size > mostBytes && len(found) > 0 {
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
func (p *past) next(
	ctx context.Context, sel *Selection, after ObjectName, most limits,
) (objects []*Object, last *ObjectName, err error) {
	c := p.cache
	c.mu.RLock()
	err = p.catchUpLocked()
	if err != nil {
		c.mu.RUnlock()
		return nil, nil, err
	}
	present, all := c.store.next(sel, c.store.stepwise(sel), &after, most)
	c.mu.RUnlock()
	if !all {
		end := present[len(present)-1]
		last = &ObjectName{Namespace: strings.Clone(end.namespace), Name: strings.Clone(end.name)}
	}
	objects, err = p.undo(ctx, sel, span{&after, last}, present)
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
	p, size := c.past(at), 0
	for part := range slices.Chunk(names, maxPastPart) {
		objects, err := p.named(ctx, part)
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

// named returns the object of each name at the position; nil if there was none.
func (p *past) named(ctx context.Context, names []ObjectName) ([]*Object, error) {
	objects, indexes := make([]*Object, len(names)), make(map[objectName]int, len(names))
	p.cache.mu.RLock()
	err := p.catchUpLocked()
	for i, name := range names {
		objects[i] = p.cache.store.get(name.Namespace, name.Name)
	}
	p.cache.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		indexes[objectName{name.Namespace, name.Name}] = i
	}
	for i := range p.changes {
		if i%stepsBetweenYields == 0 {
			if err := fairqueue.Yield(ctx); err != nil {
				return nil, err
			}
		}
		name := nameOf(p.changes[i].object())
		if index, ok := indexes[name]; ok {
			objects[index] = p.changes[i].before
			delete(indexes, name) // only the first change of an object counts
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
	case !known || older(c.feed.version, at.Version):
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
		coming, err := c.incomplete(version)
		return coming == nil && err == nil, err
	}
	complete, err := c.awaitUntil(ctx, patience, func() (<-chan struct{}, error) { return c.incomplete(version) })
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
	if !older(c.feed.closed, version) {
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
	if ahead, _ := c.unreached(at.Version); err == nil && !been && ahead != nil {
		return ErrUndone
	}
	return c.Await(ctx, at.Version, patience)
}
