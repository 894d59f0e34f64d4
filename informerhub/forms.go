package informerhub

import "sync/atomic"

// maxForms is how many encodings there can be.
const maxForms = 4

// forms are the encodings of one object that have been made, for all who need the
// same one. An object has them only while it is in the window of its feed: when it
// is not, nobody else is likely to ask.
type forms struct {
	encoded [maxForms]atomic.Pointer[[]byte]
}

// shared makes the encodings of an object be kept.
func shared(o *Object) {
	if o != nil && o.forms.Load() == nil {
		o.forms.Store(&forms{})
	}
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
	kept := o.forms.Load()
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
