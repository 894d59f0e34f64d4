package informerhub

import (
	"context"
	"iter"
	"slices"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

const (
	// stepsBetweenYields is the number of objects that are examined between two yields.
	stepsBetweenYields = 64
	// shortWork is the number of objects that may be examined without a processor slot.
	shortWork = 256
)

// candidates are the objects that may match a selection: as few as the indexes can find without
// examining the objects. Their pointers are collected under the cache's lock. They are merged and
// matched without the lock, because objects never change.
type candidates struct {
	runs     [][]*Object // each in order of namespace and name
	position Position    // at which they were collected
	complete bool        // everything at the position's version is known
}

// all returns the candidates in no order. One that several indexes have found comes several times.
func (c candidates) all() iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		for _, run := range c.runs {
			for _, object := range run {
				if !yield(object) {
					return
				}
			}
		}
	}
}

func (c candidates) count() (count int) {
	for _, run := range c.runs {
		count += len(run)
	}
	return count
}

// selectedPartitions returns the partitions that may have objects of a selection, from the cursor's
// partition on, in order. The result may share the store's memory.
func (s *store) selectedPartitions(sel *Selection, cursor *ObjectName) []*partition {
	firstNamespace := ""
	if cursor != nil {
		firstNamespace = cursor.Namespace
	}
	switch {
	case sel.namespace != "":
		return s.partitionsOf([]string{sel.namespace}, sel)
	case sel.limited:
		first, _ := slices.BinarySearch(sel.namespaces, firstNamespace)
		return s.partitionsOf(sel.namespaces[first:], sel)
	}
	return s.partitions[s.partitionIndex(firstNamespace):]
}

func (s *store) partitionsOf(namespaces []string, sel *Selection) (partitions []*partition) {
	for _, namespace := range namespaces {
		if p := s.byNamespace[namespace]; p != nil && sel.includesNamespace(namespace) {
			partitions = append(partitions, p)
		}
	}
	s.examined.Add(int64(len(namespaces)))
	return partitions
}

// candidates returns a selection's candidates in the partitions that it reaches. If excluded is not
// nil, partitions that it reaches are left out.
func (s *store) candidates(sel, excluded *Selection) [][]*Object {
	if sel.onlyNames != nil {
		return [][]*Object{s.objectsByNames(sel.onlyNames, excluded)}
	}
	partitions := s.selectedPartitions(sel, nil)
	if excluded != nil {
		partitions = slices.DeleteFunc(slices.Clone(partitions), func(p *partition) bool {
			return excluded.includesNamespace(p.namespace)
		})
	}
	runs := s.runs(sel, partitions)
	for _, run := range runs {
		s.examined.Add(int64(len(run)))
	}
	return runs
}

func (s *store) runs(sel *Selection, partitions []*partition) [][]*Object {
	if sel.name != "" {
		return [][]*Object{objectsNamed(sel.name, partitions)}
	}
	all := entriesIn(partitions)
	if index := s.narrowest(sel.lookups, partitions, all); index != nil {
		runs := make([][]*Object, index.size())
		for i := range runs {
			runs[i] = index.objects(i, partitions)
		}
		return runs
	}
	run := make([]*Object, 0, all)
	for _, p := range partitions {
		run = p.appendAll(run)
	}
	return [][]*Object{run}
}

func objectsNamed(name string, partitions []*partition) (found []*Object) {
	for _, p := range partitions {
		if object := p.get(name); object != nil {
			found = append(found, object)
		}
	}
	return found
}

func entriesIn(partitions []*partition) (count int) {
	for _, p := range partitions {
		count += p.entries.Len()
	}
	return count
}

// objects returns the objects of some partitions that have the i-th label or value.
func (l *lookup) objects(i int, partitions []*partition) (found []*Object) {
	for _, p := range partitions {
		for _, e := range l.entries(p, i) {
			found = append(found, e.object)
		}
	}
	return found
}

// objectsByNames returns the objects with the given names, which must be in order.
func (s *store) objectsByNames(names []ObjectName, excluded *Selection) []*Object {
	var objects []*Object
	for i, name := range names {
		if i > 0 && name.compare(names[i-1]) == 0 || excluded != nil && excluded.includesNamespace(name.Namespace) {
			continue // the same name with another UID, or excluded
		}
		if object := s.get(name.Namespace, name.Name); object != nil {
			objects = append(objects, object)
		}
	}
	return objects
}

// merge returns all candidates in order, each once.
func (c candidates) merge(ctx context.Context) ([]*Object, error) {
	runs := c.runs
	for len(runs) > 1 {
		var longer [][]*Object
		for pair := range slices.Chunk(runs, 2) {
			run, err := mergeTwo(ctx, pair)
			if err != nil {
				return nil, err
			}
			longer = append(longer, run)
		}
		runs = longer
	}
	if len(runs) == 0 {
		return nil, nil
	}
	return runs[0], nil
}

// mergeTwo merges two ordered slices, or returns the only one.
func mergeTwo(ctx context.Context, runs [][]*Object) ([]*Object, error) {
	if len(runs) == 1 {
		return runs[0], nil
	}
	a, b := runs[0], runs[1]
	merged := make([]*Object, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		if len(merged)%stepsBetweenYields == 0 {
			if err := fairqueue.Yield(ctx); err != nil {
				return nil, err
			}
		}
		switch order := compareFirst(a, b); {
		case order < 0:
			merged, a = append(merged, a[0]), a[1:]
		case order > 0:
			merged, b = append(merged, b[0]), b[1:]
		default:
			merged, a, b = append(merged, a[0]), a[1:], b[1:]
		}
	}
	return merged, nil
}

// match returns the candidates that match a selection.
func (c candidates) match(ctx context.Context, sel *Selection) (Snapshot, error) {
	if sel.filter != nil || c.count() > shortWork || sel.isLong(c.all()) {
		slotCtx, end, err := fairqueue.Begin(ctx)
		if err != nil {
			return Snapshot{}, err
		}
		defer end()
		ctx = slotCtx
	}
	objects, err := c.merge(ctx)
	if err != nil || sel.selectsAll() {
		return c.snapshot(objects), err
	}
	filtering := filtering{filter: sel.filter}
	kept := objects[:0]
	for i, object := range objects {
		if i%stepsBetweenYields == 0 {
			if err := fairqueue.Yield(ctx); err != nil {
				return Snapshot{}, err
			}
		}
		keep, err := filtering.matches(ctx, sel, object)
		if err != nil {
			return Snapshot{}, err
		}
		if keep {
			kept = append(kept, object)
		}
	}
	// A snapshot may be retained for long, so it must not have the capacity for all candidates.
	snapshot := c.snapshot(slices.Clone(kept))
	snapshot.Warnings, snapshot.unvalued = filtering.warnings(), filtering.unvalued
	return snapshot, nil
}

// snapshot returns a snapshot of the selected candidates.
func (c candidates) snapshot(selected []*Object) Snapshot {
	return Snapshot{Objects: selected, ResourceVersion: c.position.Version, Position: c.position, Complete: c.complete, Examined: c.count()}
}
