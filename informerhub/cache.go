package informerhub

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Cache is the live state of one resource: of the whole resource, or of some namespaces, where the hub must not list the
// resource as a whole. Its methods are safe for concurrent use.
//
// Each of the namespaces has a Reflector, a history and versions of its own, because the API server orders the changes of
// one watch, and not those of two. Every guarantee of this package holds in each namespace. Across namespaces:
//
//   - A list, and a snapshot, has each namespace as of a version of its own. The version of the whole is the oldest one.
//   - The events of a stream are in the order of their versions within each namespace, and in no order between two.
//   - A [Bookmark] means that everything up to its version was delivered in all of the namespaces. Events above
//     it may have been delivered already.
//   - A [Position] has the position in each namespace, so that a stream or a list continues in each where it was. A position
//     that has none for one of the namespaces does not resume.
//
// A Cache is a view, and owns nothing: the hub owns the Reflectors.
type Cache struct {
	resource Resource
	scopes   []*scopeCache // in the order of their namespaces; one of the whole resource, or one for each namespace
}

func newCache(resource Resource, scopes ...*scopeCache) *Cache {
	return &Cache{resource: resource, scopes: scopes}
}

// Resource returns the cached resource.
func (c *Cache) Resource() Resource { return c.resource }

// Namespaces returns the namespaces that the cache has, in order; nil if it has all.
func (c *Cache) Namespaces() []string {
	if c.scopes[0].namespace == "" {
		return nil
	}
	names := make([]string, len(c.scopes))
	for i, scope := range c.scopes {
		names[i] = scope.namespace
	}
	return names
}

// bytesOfPart estimates the memory that a watcher keeps for each namespace, with its position there.
const bytesOfPart = 5 << 9

// WatcherBytes estimates the memory that a [Watcher] of the cache keeps in addition to that of a watcher of one namespace.
func (c *Cache) WatcherBytes() int { return (len(c.scopes) - 1) * bytesOfPart }

// awaitEnd blocks until one of the namespaces has ended for good, the channel is closed, or the context has ended.
func (c *Cache) awaitEnd(ctx context.Context, changed <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var waiting sync.WaitGroup
	for _, scope := range c.scopes {
		waiting.Go(func() {
			defer cancel()
			scope.awaitEnd(ctx)
		})
	}
	select {
	case <-changed:
	case <-ctx.Done():
	}
	cancel()
	waiting.Wait()
}

// of returns the cache of a namespace; nil if there is none.
func (c *Cache) of(namespace string) *scopeCache {
	if c.scopes[0].namespace == "" {
		return c.scopes[0]
	}
	i, found := slices.BinarySearchFunc(c.scopes, namespace, func(scope *scopeCache, name string) int {
		return strings.Compare(scope.namespace, name)
	})
	if !found {
		return nil
	}
	return c.scopes[i]
}

// Select parses a query for this cache's resource. It fails with a BadRequest error for a malformed
// selector, and for a field that the API server does not support for the resource. To find that
// out, the API server may be asked once for each field.
func (c *Cache) Select(ctx context.Context, query Query) (*Selection, error) {
	first, err := c.scopes[0].Select(ctx, query)
	if err != nil {
		return nil, err
	}
	parts := []*Selection{first}
	for _, scope := range c.scopes[1:] {
		part, err := scope.adopt(ctx, first)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	whole := *first
	whole.cache, whole.of, whole.parts = nil, c, parts
	return &whole, nil
}

// checkSelection returns ErrForeignSelection unless the cache has made a selection.
func (c *Cache) checkSelection(sel *Selection) error {
	if sel.of != c {
		return ErrForeignSelection
	}
	return nil
}

// Get returns one object, or a NotFound error.
func (c *Cache) Get(namespace, name string) (*Object, error) {
	if scope := c.of(namespace); scope != nil {
		return scope.Get(namespace, name)
	}
	return nil, apierrors.NewNotFound(c.resource.GroupResource(), name)
}

// List returns the current content of a selection of this cache. It fails with a BadRequest error if the
// selection's filter costs too much for all objects together. Longer lists use processor slots, see
// [fairqueue.Begin], and end with the context.
func (c *Cache) List(ctx context.Context, sel *Selection) (Snapshot, error) {
	return c.list(sel, func(scope *scopeCache, part *Selection) (Snapshot, error) { return scope.List(ctx, part) })
}

// ListAt returns the content of a selection at a position. It fails with ErrForgotten if the window
// does not reach back to the position, with ErrUndone, and with the errors of List.
func (c *Cache) ListAt(ctx context.Context, sel *Selection, at Position) (Snapshot, error) {
	return c.list(sel, func(scope *scopeCache, part *Selection) (Snapshot, error) {
		position, known := at.In(scope.namespace)
		if !known {
			return Snapshot{}, ErrForgotten
		}
		return scope.ListAt(ctx, part, position.Position)
	})
}

// list returns the snapshots of all namespaces as one.
func (c *Cache) list(sel *Selection, list func(*scopeCache, *Selection) (Snapshot, error)) (Snapshot, error) {
	if err := c.checkSelection(sel); err != nil {
		return Snapshot{}, err
	}
	if len(c.scopes) == 1 {
		return list(c.scopes[0], sel.parts[0])
	}
	merged, positions := Snapshot{Complete: true}, make([]NamespacePosition, len(c.scopes))
	for i, scope := range c.scopes {
		snapshot, err := list(scope, sel.parts[i])
		if err != nil {
			return Snapshot{}, err
		}
		positions[i] = NamespacePosition{scope.namespace, snapshot.Position, snapshot.Position.Version}
		merged.Objects = append(merged.Objects, snapshot.Objects...)
		merged.Complete = merged.Complete && snapshot.Complete
		merged.Examined += snapshot.Examined
		merged.unvalued.merge(snapshot.unvalued)
	}
	merged.Position, merged.Warnings = mergedPosition(positions), merged.unvalued.warnings()
	merged.ResourceVersion = merged.Position.Version
	return merged, nil
}

// ListBehind returns the content of a selection at a position, after an object, in order, and
// reports whether more objects follow. It returns at most limit objects, and stops before they have
// more than maxBytes, but returns at least one if there is one. It fails as ListAt does.
func (c *Cache) ListBehind(
	ctx context.Context, sel *Selection, at Position, after ObjectName, limit, maxBytes int,
) (found []*Object, more bool, err error) {
	if err := c.checkSelection(sel); err != nil {
		return nil, false, err
	}
	size := 0
	for i, scope := range c.scopes {
		if scope.namespace != "" && scope.namespace < after.Namespace {
			continue
		}
		position, known := at.In(scope.namespace)
		if !known {
			return nil, false, ErrForgotten
		}
		// At least one object is read, to know whether there are more.
		objects, rest, err := scope.ListBehind(ctx, sel.parts[i], position.Position, after, max(1, limit-len(found)), maxBytes-size)
		if err != nil {
			return nil, false, err
		}
		for _, object := range objects {
			if size += object.Size(); len(found) == limit || len(found) > 0 && size > maxBytes {
				return found, true, nil
			}
			found = append(found, object)
		}
		if rest {
			return found, true, nil
		}
	}
	return found, false, nil
}

// ListNamed returns the objects with the given names at a position, in the order of the names. It
// stops before they have more than maxBytes, but returns at least one. It fails with ErrForgotten
// if there was no object with one of the names, and as ListAt does.
func (c *Cache) ListNamed(ctx context.Context, at Position, names []ObjectName, maxBytes int) (found []*Object, err error) {
	size := 0
	for len(names) > 0 {
		run := names
		if end := slices.IndexFunc(names, func(name ObjectName) bool { return c.of(name.Namespace) != c.of(names[0].Namespace) }); end > 0 {
			run = names[:end]
		}
		scope := c.of(run[0].Namespace)
		if scope == nil {
			return nil, ErrForgotten
		}
		position, known := at.In(scope.namespace)
		if !known {
			return nil, ErrForgotten
		}
		objects, err := scope.ListNamed(ctx, position.Position, run, maxBytes-size)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			if size += object.Size(); len(found) > 0 && size > maxBytes {
				return found, nil
			}
			found = append(found, object)
		}
		if len(objects) < len(run) {
			return found, nil
		}
		names = names[len(run):]
	}
	return found, nil
}

// Holds reports through its error whether the cache can reconstruct its state at a position: nil,
// ErrForgotten or ErrUndone.
func (c *Cache) Holds(at Position) error {
	for _, scope := range c.scopes {
		position, known := at.In(scope.namespace)
		if !known {
			return ErrForgotten
		}
		if err := scope.Holds(position.Position); err != nil {
			return err
		}
	}
	return nil
}

// Revision returns the revision of the cache. A read that begins afterwards returns this revision's
// content or a newer one.
func (c *Cache) Revision() Revision {
	merged := c.scopes[0].Revision()
	for _, scope := range c.scopes[1:] {
		next := scope.Revision()
		merged.epoch = merged.epoch*hashFactor ^ next.epoch
		merged.changes = merged.changes*hashFactor ^ next.changes
		merged.version += "," + next.version
	}
	return merged
}

// Watch returns a watcher of a selection of this cache. Next fails with ErrForeignSelection for a
// selection of another one. Call Close when done.
func (c *Cache) Watch(sel *Selection, options WatchOptions) *Watcher {
	w := &Watcher{options: options}
	if sel.of == c {
		w.reader = c.reader(sel, options)
	}
	return w
}

// reader returns the watcher of the only scope, or one of all namespaces.
func (c *Cache) reader(sel *Selection, options WatchOptions) watchReader {
	if len(c.scopes) > 1 {
		return newMergedWatcher(c, sel, options)
	}
	if options.Since != nil {
		if at, known := options.Since.In(c.scopes[0].namespace); known {
			options.Since = &at.Position
		} else {
			options.Since = nil // begins with a snapshot
		}
	}
	return c.scopes[0].watch(sel.parts[0], options)
}

// Freshness returns how current the cache is: its namespace that is behind the most.
func (c *Cache) Freshness() Freshness {
	if len(c.scopes) == 0 {
		return Freshness{Stale: true} // the zero Cache
	}
	fresh := c.scopes[0].Freshness()
	for _, scope := range c.scopes[1:] {
		fresh = worst([]Freshness{scope.Freshness()}, fresh)
	}
	return fresh
}

// Ready blocks until a cache that was returned by [Hub.Start] has a complete snapshot. It fails as
// [Hub.Cache] does.
func (c *Cache) Ready(ctx context.Context) error {
	return c.inEach(ctx, func(ctx context.Context, scope *scopeCache) error { return scope.Ready(ctx) })
}

// isSynced reports whether all namespaces have a complete snapshot.
func (c *Cache) isSynced() bool {
	return !slices.ContainsFunc(c.scopes, func(scope *scopeCache) bool {
		_, _, synced := scope.followed()
		return !synced
	})
}

// Count returns the number of objects in a namespace, or in all namespaces of the cache if it is empty.
func (c *Cache) Count(namespace string) (count int) {
	for _, scope := range c.scopes {
		scope.mu.RLock()
		switch p := scope.store.byNamespace[namespace]; {
		case namespace == "":
			count += scope.store.count
		case p != nil:
			count += p.entries.Len()
		}
		scope.mu.RUnlock()
	}
	return count
}

// Await blocks until the cache has reached a resource version, for at most timeout, or until
// shortly before the deadline of ctx. After that it fails with a Timeout error with a retry time.
// An invalid version is a BadRequest error.
//
// Several namespaces are asked only about a version that the API server has reached: a caller can send any version.
func (c *Cache) Await(ctx context.Context, version string, timeout time.Duration) error {
	if len(c.scopes) > 1 && !c.isAt(version) {
		if err := c.scopes[0].awaitIssued(ctx, version, timeout); err != nil {
			return err
		}
	}
	return c.inEach(ctx, func(ctx context.Context, scope *scopeCache) error { return scope.Await(ctx, version, timeout) })
}

// Newest asks the API server for its current version, and returns a version that is not older than anything that it had before the
// call. Concurrent callers share the request. Newest fails with ErrSeveralNamespaces for a cache of several, which have no common version.
func (c *Cache) Newest(ctx context.Context) (version string, err error) {
	switch {
	case len(c.scopes) > 1:
		return "", ErrSeveralNamespaces
	case c.scopes[0].history == nil:
		return "", errNoHistory
	}
	return c.scopes[0].history.newest(ctx)
}

// AwaitChanges blocks until the cache has reached a version by the changes of the resource, for at most timeout, and reports whether it
// has. Unlike Await, it does not ask the API server, so that it does not block at all for a resource that has not changed for a second.
func (c *Cache) AwaitChanges(ctx context.Context, version string, timeout time.Duration) (reached bool, err error) {
	reached = true
	for _, scope := range c.scopes {
		if reached, err = scope.awaitChanges(ctx, version, timeout); err != nil || !reached {
			break
		}
	}
	return reached, err
}

// isAt reports whether all namespaces have reached a version.
func (c *Cache) isAt(version string) bool {
	return !slices.ContainsFunc(c.scopes, func(scope *scopeCache) bool {
		advanced, err := scope.unreached(version, (*feed).reached)
		return advanced != nil || err != nil
	})
}

// AwaitPosition blocks as Await does, and fails with ErrUndone for a position of another history.
func (c *Cache) AwaitPosition(ctx context.Context, at Position, timeout time.Duration) error {
	return c.inEach(ctx, func(ctx context.Context, scope *scopeCache) error {
		position, known := at.In(scope.namespace)
		if !known {
			return nil // nothing to wait for
		}
		return scope.AwaitPosition(ctx, position.Position, timeout)
	})
}

// AwaitComplete blocks until the cache has every change at a position, for at most timeout. It
// reports whether the cache has them: there may be more deletions at the version of the last one.
// It does not wait if it has waited in vain in the last ten seconds.
func (c *Cache) AwaitComplete(ctx context.Context, at Position, timeout time.Duration) (bool, error) {
	complete := make([]bool, len(c.scopes))
	err := c.inEach(ctx, func(ctx context.Context, scope *scopeCache) (err error) {
		of := &complete[slices.Index(c.scopes, scope)]
		position, known := at.In(scope.namespace)
		if !known {
			*of = true // nothing to wait for
			return nil
		}
		*of, err = scope.AwaitComplete(ctx, position.Version, timeout)
		return err
	})
	return err == nil && !slices.Contains(complete, false), err
}

// inEach calls do for each scope, concurrently, and returns the first error.
func (c *Cache) inEach(ctx context.Context, do func(context.Context, *scopeCache) error) error {
	if len(c.scopes) == 1 {
		return do(ctx, c.scopes[0])
	}
	var all errgroup.Group
	for _, scope := range c.scopes {
		all.Go(func() error {
			if err := do(ctx, scope); err != nil {
				return fmt.Errorf("namespace %s: %w", scope.namespace, err)
			}
			return nil
		})
	}
	return all.Wait()
}
