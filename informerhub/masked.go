package informerhub

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/kubeconnect/kubeconnect/informerhub/kubejson"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
)

// masking says what the content of an object is: that of another one, under a mask.
type masking struct {
	whole *Object
	by    *mask.Mask
}

// Masked is the object with only what of its content is under a mask, and all of its head.
// Nil is no mask. The content is made when it is asked for. While the object is among the
// last changes, all who ask for the same mask get the same masked object, and so what is
// [Object.Encoded] for one of them serves the others.
func (o *Object) Masked(by *mask.Mask) *Object {
	if by == nil || o == nil || o.format != formatProtobuf && o.format != formatJSON {
		return o
	}
	if kept := o.forms.Load(); kept != nil {
		return kept.maskedOf(o, by)
	}
	return newMasked(o, by)
}

func newMasked(o *Object, by *mask.Mask) *Object {
	return &Object{
		kind: o.kind, format: o.format, masking: &masking{o, by},
		namespace: o.namespace, name: o.name, uid: o.uid, version: o.version, labels: o.labels,
	}
}

// maxMasked is how many masked objects are kept with an object. Those who come with more
// masks than that share nothing.
const maxMasked = 4

// maskedForms is a masked object that is kept, and its encodings.
type maskedForms struct {
	object *Object
	forms  forms
}

// maskedOf is an object under a mask, kept if there is room.
func (f *forms) maskedOf(o *Object, by *mask.Mask) *Object {
	made := &maskedForms{object: newMasked(o, by)}
	for i := range f.masked {
		if f.masked[i].CompareAndSwap(nil, made) {
			break
		}
		if kept := f.masked[i].Load(); kept.object.masking.by.String() == by.String() {
			return kept.object
		}
	}
	return made.object
}

// formsOf are those of a masked object; nil if it is not kept.
func (f *forms) formsOf(masked *Object) *forms {
	for i := range f.masked {
		if kept := f.masked[i].Load(); kept != nil && kept.object == masked {
			return &kept.forms
		}
	}
	return nil
}

// AppendMaskedProtobuf appends the object's protobuf message under a mask, if there is one,
// to dst; false if its kind has none. See [mask.Mask.AppendProtobuf] for what may be there
// beside it.
func (o *Object) AppendMaskedProtobuf(dst []byte, by *mask.Mask) ([]byte, bool) {
	message, ok := o.Protobuf()
	switch {
	case !ok:
		return dst, false
	case by == nil:
		return append(dst, message...), true
	}
	return by.AppendProtobuf(dst, *o.kind, message), true
}

// AppendMaskedJSON appends the object's JSON under a mask, if there is one, to dst. Of a
// kind with a protobuf form no more is made JSON than is left of the message.
func (o *Object) AppendMaskedJSON(dst []byte, by *mask.Mask) ([]byte, error) {
	if by == nil {
		return o.AppendJSON(dst)
	}
	if o.format != formatProtobuf || o.masking != nil {
		text, err := o.JSON()
		if err != nil {
			return dst, err
		}
		return by.AppendJSON(dst, text)
	}
	s := maskScratches.Get().(*maskScratch)
	defer s.release()
	if err := s.cut(o, by); err != nil {
		return dst, err
	}
	return by.AppendJSON(dst, s.text)
}

// maskScratch holds what is made on the way to something masked, or to what a filter reads.
type maskScratch struct{ message, text []byte }

var maskScratches = sync.Pool{New: func() any { return new(maskScratch) }}

// cut makes, in the scratch's text, the JSON of what is left of an object's message under a
// mask. There may be more in it than is under the mask: see [mask.Mask.AppendProtobuf].
func (s *maskScratch) cut(o *Object, by *mask.Mask) (err error) {
	s.message = by.AppendProtobuf(s.message[:0], *o.kind, o.raw)
	if s.text, err = kubejson.Append(s.text[:0], *o.kind, s.message); err != nil {
		return fmt.Errorf("%s %s: the API server's protobuf cannot be read: %w", o.kind.Kind, o.key(), err)
	}
	return nil
}

// release keeps the room for the next object, unless it is much.
func (s *maskScratch) release() {
	if cap(s.message) <= maxJSONBuffer && cap(s.text) <= maxJSONBuffer {
		maskScratches.Put(s)
	}
}

// sameUnder reports whether two states of an object are surely the same under a mask.
// Messages that differ may be the same in JSON: see [mask.Mask.AppendProtobuf].
func sameUnder(by *mask.Mask, before, after *Object) bool {
	if by == nil || before.format != after.format {
		return false
	}
	a, b := maskScratches.Get().(*maskScratch), maskScratches.Get().(*maskScratch)
	defer a.release()
	defer b.release()
	var ok bool
	if a.message, ok = before.AppendMaskedProtobuf(a.message[:0], by); ok {
		b.message, _ = after.AppendMaskedProtobuf(b.message[:0], by)
		if bytes.Equal(a.message, b.message) {
			return true
		}
	}
	return a.json(before, by) && b.json(after, by) && bytes.Equal(a.text, b.text)
}

// json makes the masked JSON of an object in the scratch's text.
func (s *maskScratch) json(o *Object, by *mask.Mask) bool {
	var err error
	s.text, err = o.AppendMaskedJSON(s.text[:0], by)
	return err == nil
}
