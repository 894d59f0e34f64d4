package informerhub

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/informerhub/filter"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// passesFilter reports whether the selection's filter, if any, is true for an object.
func (s *Selection) passesFilter(object *Object) bool {
	if s.filter == nil {
		return true
	}
	matches, _ := object.PassesFilter(s.filter, nil)
	return matches
}

// matchesCounting is like Matches, and counts the objects for which the filter has no value.
func (s *Selection) matchesCounting(object *Object, unvalued *unvaluedCount) bool {
	if s.filter == nil || !s.matchesWithoutFilter(object) {
		return s.filter == nil && s.matchesWithoutFilter(object)
	}
	matches, err := object.PassesFilter(s.filter, nil)
	unvalued.add(object, err)
	return matches
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
