package informerhub

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/informerhub/filter"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// maxAnswers is how many filters' answers are remembered of an object. Of a change, the
// object before is that after the last one, which a filter has been held against already.
const maxAnswers = 4

// verdict is what a filter says of an object.
type verdict struct {
	filter  *filter.Filter
	matches bool
	err     error
}

// passes reports whether the selection's filter, if it has one, is true for an object.
func (s *Selection) passes(object *Object) bool {
	if s.filter == nil {
		return true
	}
	matches, _ := object.passes(s.filter, nil)
	return matches
}

// holds is Matches, and counts the objects that the filter has no value for.
func (s *Selection) holds(object *Object, unvalued *leftOut) bool {
	if s.filter == nil || !s.selects(object) {
		return s.filter == nil && s.selects(object)
	}
	matches, err := object.passes(s.filter, nil)
	unvalued.add(object, err)
	return matches
}

// passes holds a filter against the object. While the object is among the last changes,
// the answer is remembered. The error says why the filter has no value for it.
func (o *Object) passes(f *filter.Filter, budget *filter.Budget) (bool, error) {
	kept := o.forms.Load()
	if kept == nil {
		return o.evaluate(f, budget)
	}
	place := &kept.answers[f.Number()%maxAnswers]
	if known := place.Load(); known != nil && known.filter == f {
		return known.matches, known.err
	}
	matches, err := o.evaluate(f, budget)
	place.Store(&verdict{f, matches, err})
	return matches, err
}

func (o *Object) evaluate(f *filter.Filter, budget *filter.Budget) (bool, error) {
	s := maskScratches.Get().(*maskScratch)
	defer s.release()
	text, err := s.read(o, f)
	if err != nil {
		return false, err
	}
	return f.Matches(text, budget)
}

// read answers what a filter reads of an object, as JSON that is good until the scratch
// is released. There may be more in it.
func (s *maskScratch) read(o *Object, f *filter.Filter) (text []byte, err error) {
	mask := f.Mask()
	switch {
	case mask == nil:
		s.text, err = o.AppendJSON(s.text[:0])
	case o.format == formatProtobuf:
		err = s.cut(o, mask)
	default:
		if text, err = o.sentJSON(); err == nil {
			s.text, err = mask.AppendJSON(s.text[:0], text)
		}
	}
	return s.text, err
}

// filtering holds one filter against the objects of one list.
type filtering struct {
	filter *filter.Filter // nil keeps everything
	budget filter.Budget
	out    leftOut
}

// selects reports whether a selection that has the filter holds an object. It returns the errors of keeps.
func (f *filtering) selects(ctx context.Context, sel *Selection, object *Object) (bool, error) {
	if !sel.selects(object) {
		return false, nil
	}
	return f.keeps(ctx, object)
}

// keeps reports whether the filter is true for an object. It is a BadRequest error if it
// has cost too much for all objects up to here.
func (f *filtering) keeps(ctx context.Context, object *Object) (bool, error) {
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
	matches, err := object.passes(f.filter, &f.budget)
	f.out.add(object, err)
	return matches, nil
}

func (f *filtering) warnings() []string { return f.out.warnings() }

// leftOut counts the objects that a filter has no value for.
type leftOut struct {
	of    int // objects that the filter was held against
	count int // of them it has no value for
	first string
	why   error
}

// add counts an object; why is nil if the filter has a value for it.
func (l *leftOut) add(object *Object, why error) {
	one := leftOut{of: 1}
	if why != nil {
		one = leftOut{of: 1, count: 1, first: object.key(), why: why}
	}
	l.merge(one)
}

// merge adds what was counted later.
func (l *leftOut) merge(later leftOut) {
	if l.count == 0 {
		l.first, l.why = later.first, later.why
	}
	l.of, l.count = l.of+later.of, l.count+later.count
}

func (l *leftOut) warnings() []string {
	if l.count == 0 {
		return nil
	}
	more := ""
	if l.count > 1 {
		more = ", …"
	}
	return []string{fmt.Sprintf("the filter has no value for %d of %d objects, which are left out: %v (%s%s)",
		l.count, l.of, l.why, l.first, more)}
}

// warner decides when a stream warns of the objects that its filter has no value for: with
// each snapshot, and after that once in an interval at most. The zero value is ready.
type warner struct {
	unvalued leftOut // since the last warning
	warned   time.Time
}

// count adds what a batch has counted, of which a snapshot begins the count again.
func (w *warner) count(batch Batch) {
	if len(batch.Events) > 0 && batch.Events[0].Type == Reset {
		*w = warner{}
	}
	w.unvalued.merge(batch.unvalued)
}

// warnings returns what a batch that is about to be delivered warns of.
func (w *warner) warnings(batch Batch, interval time.Duration) []string {
	synced := batch.Events[len(batch.Events)-1].Type == Synced
	if batch.snapshot && !synced || !synced && time.Since(w.warned) < interval {
		return nil
	}
	due := w.unvalued.warnings()
	w.unvalued = leftOut{}
	if due != nil {
		w.warned = time.Now()
	}
	return due
}
