package informerhub

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/informerhub/filter"
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

// filtering evaluates one filter for the objects of one list.
type filtering struct {
	filter   *filter.Filter // nil keeps everything
	budget   filter.Budget
	unvalued unvaluedCount
}

// matches reports whether a selection with this filter contains an object. It returns the errors of
// passes.
func (f *filtering) matches(ctx context.Context, sel *Selection, object *Object) (bool, error) {
	if !sel.matchesWithoutFilter(object) {
		return false, nil
	}
	return f.passes(ctx, object)
}

// passes reports whether the filter is true for an object. It fails with a BadRequest error if the
// filter has cost too much for all objects so far.
func (f *filtering) passes(ctx context.Context, object *Object) (bool, error) {
	if f.filter == nil {
		return true, nil
	}
	if err := fairqueue.Yield(ctx); err != nil {
		return false, err
	}
	if err := f.budget.Left(); err != nil {
		return false, apierrors.NewBadRequest(fmt.Sprintf(
			"filter: %v for all objects together: select fewer by namespace, labels or fields, or ask for less", err))
	}
	matches, err := object.PassesFilter(f.filter, &f.budget)
	f.unvalued.add(object, err)
	return matches, nil
}

func (f *filtering) warnings() []string { return f.unvalued.warnings() }

// unvaluedCount counts the objects for which a filter has no value.
type unvaluedCount struct {
	total  int // objects that the filter was evaluated for
	count  int // objects without a value
	first  string
	reason error
}

// add counts an object; reason is nil if the filter has a value for it.
func (l *unvaluedCount) add(object *Object, reason error) {
	one := unvaluedCount{total: 1}
	if reason != nil {
		one = unvaluedCount{total: 1, count: 1, first: object.Key(), reason: reason}
	}
	l.merge(one)
}

// merge adds a later count.
func (l *unvaluedCount) merge(later unvaluedCount) {
	if l.count == 0 {
		l.first, l.reason = later.first, later.reason
	}
	l.total, l.count = l.total+later.total, l.count+later.count
}

func (l *unvaluedCount) warnings() []string {
	if l.count == 0 {
		return nil
	}
	more := ""
	if l.count > 1 {
		more = ", …"
	}
	return []string{fmt.Sprintf("the filter has no value for %d of %d objects, which are left out: %v (%s%s)",
		l.count, l.total, l.reason, l.first, more)}
}

// warner decides when a stream warns of objects for which its filter has no value: with each
// snapshot, and after that at most once in an interval. The zero value is ready for use.
type warner struct {
	unvalued unvaluedCount // since the last warning
	warned   time.Time
}

// count adds the count of a batch. A snapshot resets the count.
func (w *warner) count(batch Batch) {
	if len(batch.Events) > 0 && batch.Events[0].Type == Reset {
		*w = warner{}
	}
	w.unvalued.merge(batch.unvalued)
}

// warnings returns the warnings of a batch that is about to be delivered.
func (w *warner) warnings(batch Batch, interval time.Duration) []string {
	synced := batch.Events[len(batch.Events)-1].Type == Synced
	if batch.snapshot && !synced || !synced && time.Since(w.warned) < interval {
		return nil
	}
	due := w.unvalued.warnings()
	w.unvalued = unvaluedCount{}
	if due != nil {
		w.warned = time.Now()
	}
	return due
}
