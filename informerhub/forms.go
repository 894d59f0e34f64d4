package informerhub

import "sync/atomic"

// maxForms is the number of encodings.
const maxForms = 4

// forms are the cached encodings of one object and the cached results of filters for it, shared by
// all callers. An object has them only while it is in the window of its feed, because later
// requests for the same encoding are unlikely.
type forms struct {
	encoded [maxForms]atomic.Pointer[[]byte]
	patches [maxForms]atomic.Pointer[patch]
	masked  [maxMasked]atomic.Pointer[maskedForms] // the first ones that were requested
	answers [maxAnswers]atomic.Pointer[verdict]    // by the filters' numbers
}

// patch is an object as a difference to the previous one; nil if it cannot be expressed.
type patch struct {
	before  *Object
	encoded []byte
}

// shared enables the caching of an object's encodings.
func shared(o *Object) {
	if o != nil && o.forms.Load() == nil {
		o.forms.Store(&forms{})
	}
}

// kept returns the cache of an object's encodings; nil if they are not cached. The encodings of a
// masked object are cached with the whole object, and released with it.
func (o *Object) kept() *forms {
	if o.masking == nil {
		return o.forms.Load()
	}
	whole := o.masking.whole.forms.Load()
	if whole == nil {
		return nil
	}
	return whole.formsOf(o)
}

// unshared drops the cached encodings of an object, and disables caching.
func unshared(o *Object) {
	if o != nil {
		o.forms.Store(nil)
	}
}

// Encoded returns the object in one of a few encodings, numbered from 0 to 3. While the object is
// in the window, encode is called once for all callers. The result must not be changed.
func (o *Object) Encoded(encoding int, encode func(*Object) []byte) []byte {
	kept := o.kept()
	if kept == nil {
		return encode(o)
	}
	if made := kept.encoded[encoding].Load(); made != nil {
		return *made
	}
	made := encode(o)
	kept.encoded[encoding].Store(&made)
	return made
}

// EncodedPatch returns a Modified object as a difference to the previous one, in one of the
// encodings; nil if it cannot be expressed. It is encoded once for all callers, as in Encoded.
func (e Event) EncodedPatch(encoding int, encode func(before, after *Object) []byte) []byte {
	if e.Before == nil {
		return nil
	}
	kept := e.Object.kept()
	if kept == nil {
		return encode(e.Before, e.Object)
	}
	if made := kept.patches[encoding].Load(); made != nil && made.before == e.Before {
		return made.encoded
	}
	made := &patch{e.Before, encode(e.Before, e.Object)}
	kept.patches[encoding].Store(made)
	return made.encoded
}
