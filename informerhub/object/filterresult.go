package object

import (
	"github.com/kubeconnect/kubeconnect/informerhub/filter"
)

// maxFilterResults is the number of filter results that are cached for an object. The object before
// a change is the object after the previous one, so a filter has usually evaluated it already.
const maxFilterResults = 4

// filterResult is the result of a filter for an object.
type filterResult struct {
	filter  *filter.Filter
	matches bool
	err     error
}

// PassesFilter evaluates a filter for the object. The result is cached while the object is in the
// window. The error is the reason why the filter has no value for the object.
func (o *Object) PassesFilter(f *filter.Filter, budget *filter.Budget) (bool, error) {
	cached := o.encodings.Load()
	if cached == nil {
		return o.evaluate(f, budget)
	}
	slot := &cached.filterResults[f.Number()%maxFilterResults]
	if result := slot.Load(); result != nil && result.filter == f {
		return result.matches, result.err
	}
	matches, err := o.evaluate(f, budget)
	slot.Store(&filterResult{f, matches, err})
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

// read returns the JSON that a filter reads of an object. It is valid until the scratch is
// released, and may contain more than the filter's fields.
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
