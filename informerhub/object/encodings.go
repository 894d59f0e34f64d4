package object

import "sync/atomic"

// MaxEncodings bounds the encodings of an object that are cached, and the encodings of its patches.
const MaxEncodings = 4

// Encoding is a form in which a program encodes objects, such as a message of its protocol. A
// program defines its encodings once, each with a slot of its own.
type Encoding struct {
	// Slot is where an object caches the encoded bytes. Those of slots that are not less than
	// MaxEncodings are not cached.
	Slot int
	// Encode returns an encoded object, which depends on nothing but the object.
	Encode func(*Object) []byte
}

// PatchEncoding is a form in which a program encodes the difference between two states of an object.
// Its slots are others than those of [Encoding].
type PatchEncoding struct {
	Slot int
	// Encode returns the encoded difference; nil if it cannot be expressed.
	Encode func(before, after *Object) []byte
}

// encodingCache has the cached encodings of one object and the cached results of filters for it,
// shared by all callers. An object has them only while it is in the window of its feed, because
// later requests for the same encoding are unlikely.
type encodingCache struct {
	encoded       [MaxEncodings]atomic.Pointer[[]byte]
	patches       [MaxEncodings]atomic.Pointer[patch]
	masked        [maxMasked]atomic.Pointer[maskedObject]        // the first ones that were requested
	filterResults [maxFilterResults]atomic.Pointer[filterResult] // by the filters' numbers
}

// patch is an object as a difference to the previous one; nil if it cannot be expressed.
type patch struct {
	before  *Object
	encoded []byte
}

// CacheEncodings enables the caching of the object's encodings. It does nothing for a nil object.
func (o *Object) CacheEncodings() {
	if o != nil && o.encodings.Load() == nil {
		o.encodings.Store(&encodingCache{})
	}
}

// cachedEncodings returns the cache of an object's encodings, among them that of a slot; nil if it is
// not cached. The encodings of a masked object are cached with the whole object, and released with
// it.
func (o *Object) cachedEncodings(slot int) *encodingCache {
	if slot < 0 || slot >= MaxEncodings {
		return nil
	}
	if o.masking == nil {
		return o.encodings.Load()
	}
	whole := o.masking.source.encodings.Load()
	if whole == nil {
		return nil
	}
	return whole.encodingsOf(o)
}

// DropEncodings drops the cached encodings of the object, and disables caching. It does nothing for
// a nil object.
func (o *Object) DropEncodings() {
	if o != nil {
		o.encodings.Store(nil)
	}
}

// Encoded returns the encoded object. While the object is in the window, it is encoded once for all
// callers. The result must not be changed.
func (o *Object) Encoded(encoding Encoding) []byte {
	cached := o.cachedEncodings(encoding.Slot)
	if cached == nil {
		return encoding.Encode(o)
	}
	if encoded := cached.encoded[encoding.Slot].Load(); encoded != nil {
		return *encoded
	}
	encoded := encoding.Encode(o)
	cached.encoded[encoding.Slot].Store(&encoded)
	return encoded
}

// EncodedPatch returns the object as an encoded difference to a previous state of it; nil if it
// cannot be expressed. While the object is in the window, it is encoded once for all callers with
// the same previous state. The result must not be changed.
func (o *Object) EncodedPatch(before *Object, encoding PatchEncoding) []byte {
	cached := o.cachedEncodings(encoding.Slot)
	if cached == nil {
		return encoding.Encode(before, o)
	}
	if cachedPatch := cached.patches[encoding.Slot].Load(); cachedPatch != nil && cachedPatch.before == before {
		return cachedPatch.encoded
	}
	cachedPatch := &patch{before, encoding.Encode(before, o)}
	cached.patches[encoding.Slot].Store(cachedPatch)
	return cachedPatch.encoded
}
