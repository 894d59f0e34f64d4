package object

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/kubeconnect/kubeconnect/informerhub/filter"
	"github.com/kubeconnect/kubeconnect/informerhub/internal/kubejson"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
)

// masking is the source of a masked object's content: another object and a mask.
type masking struct {
	source *Object
	fields *mask.Mask
}

// Masked returns the object with only the content under a mask, and all of its head. A nil mask
// returns the object itself. The content is computed on demand. While the object is in the window,
// all callers with the same mask receive the same masked object, and so share the results of
// [Object.Encoded].
func (o *Object) Masked(fields *mask.Mask) *Object {
	if fields == nil || o == nil || o.format != formatProtobuf && o.format != formatJSON {
		return o
	}
	if cached := o.encodings.Load(); cached != nil {
		return cached.maskedOf(o, fields)
	}
	return newMasked(o, fields)
}

func newMasked(o *Object, fields *mask.Mask) *Object {
	return &Object{
		kind: o.kind, format: o.format, masking: &masking{o, fields},
		namespace: o.namespace, name: o.name, uid: o.uid, version: o.version, labels: o.labels,
	}
}

// maxMasked bounds the masked objects that are cached with an object. Callers with further masks
// share nothing.
const maxMasked = 4

// maskedObject is a cached masked object with its encodings.
type maskedObject struct {
	object    *Object
	encodings encodingCache
}

// maskedOf returns an object under a mask, and caches it if there is capacity.
func (f *encodingCache) maskedOf(o *Object, fields *mask.Mask) *Object {
	created := &maskedObject{object: newMasked(o, fields)}
	for i := range f.masked {
		if f.masked[i].CompareAndSwap(nil, created) {
			break
		}
		if cached := f.masked[i].Load(); cached.object.masking.fields.Key() == fields.Key() {
			return cached.object
		}
	}
	return created.object
}

// encodingsOf returns the encodings of a masked object; nil if it is not cached.
func (f *encodingCache) encodingsOf(masked *Object) *encodingCache {
	for i := range f.masked {
		if cached := f.masked[i].Load(); cached != nil && cached.object == masked {
			return &cached.encodings
		}
	}
	return nil
}

// AppendMaskedProtobuf appends the object's protobuf message to dst, under a mask unless it is nil.
// It returns false if the object's kind has no protobuf form. See [mask.Mask.AppendProtobuf] for
// what the message may contain in addition.
func (o *Object) AppendMaskedProtobuf(dst []byte, fields *mask.Mask) ([]byte, bool) {
	message, ok := o.Protobuf()
	switch {
	case !ok:
		return dst, false
	case fields == nil:
		return append(dst, message...), true
	}
	return fields.AppendProtobuf(dst, *o.kind, message), true
}

// AppendMaskedJSON appends the object's JSON to dst, under a mask unless it is nil. For a kind with
// a protobuf form, only the masked message is converted to JSON.
func (o *Object) AppendMaskedJSON(dst []byte, fields *mask.Mask) ([]byte, error) {
	if fields == nil {
		return o.AppendJSON(dst)
	}
	if o.format != formatProtobuf || o.masking != nil {
		text, err := o.JSON()
		if err != nil {
			return dst, err
		}
		return fields.AppendJSON(dst, text)
	}
	s := maskScratches.Get().(*maskScratch)
	defer s.release()
	if err := s.cut(o, fields); err != nil {
		return dst, err
	}
	return fields.AppendJSON(dst, s.text)
}

// maskScratch has the buffers for masked content and for the input of filters.
type maskScratch struct{ message, text []byte }

var maskScratches = sync.Pool{New: func() any { return new(maskScratch) }}

// cut writes the JSON of an object's message under a mask to the scratch's text. The JSON may
// contain more: see [mask.Mask.AppendProtobuf].
func (s *maskScratch) cut(o *Object, fields *mask.Mask) (err error) {
	s.message = fields.AppendProtobuf(s.message[:0], *o.kind, o.raw)
	if s.text, err = kubejson.Append(s.text[:0], *o.kind, s.message); err != nil {
		return fmt.Errorf("%s %s: the API server's protobuf cannot be read: %w", o.kind.Kind, o.Key(), err)
	}
	return nil
}

// release returns the buffers for reuse, unless they are large.
func (s *maskScratch) release() {
	if cap(s.message) <= maxJSONBuffer && cap(s.text) <= maxJSONBuffer {
		maskScratches.Put(s)
	}
}

// EqualUnder reports whether two states of an object are certainly equal under a mask. Messages
// that differ may be equal in JSON: see [mask.Mask.AppendProtobuf].
func EqualUnder(fields *mask.Mask, before, after *Object) bool {
	if fields == nil || before.format != after.format {
		return false
	}
	a, b := maskScratches.Get().(*maskScratch), maskScratches.Get().(*maskScratch)
	defer a.release()
	defer b.release()
	var ok bool
	if a.message, ok = before.AppendMaskedProtobuf(a.message[:0], fields); ok {
		b.message, _ = after.AppendMaskedProtobuf(b.message[:0], fields)
		if bytes.Equal(a.message, b.message) {
			return true
		}
	}
	return a.json(before, fields) && b.json(after, fields) && bytes.Equal(a.text, b.text)
}

// json writes the masked JSON of an object to the scratch's text.
func (s *maskScratch) json(o *Object, fields *mask.Mask) bool {
	var err error
	s.text, err = o.AppendMaskedJSON(s.text[:0], fields)
	return err == nil
}

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
