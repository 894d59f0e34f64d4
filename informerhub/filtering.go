package informerhub

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/informerhub/filter"
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

// filtered drops from a snapshot what a filter is not true for, and warns of what it has
// no value for.
func (s Snapshot) filtered(ctx context.Context, f *filter.Filter) (Snapshot, error) {
	if f == nil {
		return s, nil
	}
	filtering := filtering{filter: f}
	kept := s.Objects[:0]
	for _, object := range s.Objects {
		keep, err := filtering.keeps(ctx, object)
		if err != nil {
			return Snapshot{}, err
		}
		if keep {
			kept = append(kept, object)
		}
	}
	clear(s.Objects[len(kept):])
	s.Objects, s.Warnings = kept, filtering.warnings()
	return s, nil
}

// filtering holds one filter against the objects of one list.
type filtering struct {
	filter *filter.Filter // nil keeps everything
	budget filter.Budget
	asked  int
	out    leftOut
}

// keeps reports whether the filter is true for an object. It is a BadRequest error if it
// has cost too much for all objects up to here.
func (f *filtering) keeps(ctx context.Context, object *Object) (bool, error) {
	if f.filter == nil {
		return true, nil
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err := f.budget.Left(); err != nil {
		return false, apierrors.NewBadRequest(fmt.Sprintf(
			"filter: %v for all objects together: select fewer by namespace, labels or fields, or ask for less", err))
	}
	f.asked++
	matches, err := object.passes(f.filter, &f.budget)
	if err != nil {
		f.out.add(object, err)
	}
	return matches, nil
}

func (f *filtering) warnings() []string {
	if f.out.count == 0 {
		return nil
	}
	return []string{f.out.warning(f.asked)}
}

// leftOut are the objects that a filter has no value for.
type leftOut struct {
	count int
	first string
	why   error
}

func (l *leftOut) add(object *Object, why error) {
	if l.count == 0 {
		l.first, l.why = object.key(), why
	}
	l.count++
}

func (l *leftOut) warning(of int) string {
	more := ""
	if l.count > 1 {
		more = ", …"
	}
	return fmt.Sprintf("the filter has no value for %d of %d objects, which are left out: %v (%s%s)",
		l.count, of, l.why, l.first, more)
}
