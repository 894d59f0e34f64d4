package informerhub

import "sync/atomic"

// maxForms is how many encodings there can be.
const maxForms = 4

// forms are the encodings of one object that have been made, and what filters have
// answered of it, for all who need the same one. An object has them only while it is in the window of its feed: when it
// is not, nobody else is likely to ask.
type forms struct {
	encoded [maxForms]atomic.Pointer[[]byte]
	patches [maxForms]atomic.Pointer[patch]
	masked  [maxMasked]atomic.Pointer[maskedForms] // the first ones that were asked for
	answers [maxAnswers]atomic.Pointer[verdict]    // of filters, by their numbers
}

// patch is an object as the difference to the one before it; nothing if it cannot be said
// so.
type patch struct {
	before  *Object
	encoded []byte
}

// shared makes the encodings of an object be kept.
func shared(o *Object) {
	if o != nil && o.forms.Load() == nil {
		o.forms.Store(&forms{})
	}
}

// kept are the encodings of an object; nil if they are not kept. Those of a masked object
// are kept with the whole one, and let go of with it.
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

// unshared lets go of them.
func unshared(o *Object) {
	if o != nil {
		o.forms.Store(nil)
	}
}

// Encoded answers the object in one of a few encodings, numbered from 0 to 3. It is
// made by encode, and while the object is among the last changes, made once for all
// who ask. Nobody may change the answer.
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

// EncodedPatch answers a Modified object as its difference to the one before it, in one of
// the encodings; nil if it cannot be said so. Like Encoded it is made once for all.
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
