package object

import "sync/atomic"

// MaxEncodings is the number of encodings of an object that are cached.
const MaxEncodings = 4

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

// cachedEncodings returns the cache of an object's encodings, among them the given one; nil if it is
// not cached. The encodings of a masked object are cached with the whole object, and released with
// it.
func (o *Object) cachedEncodings(encoding int) *encodingCache {
	if encoding < 0 || encoding >= MaxEncodings {
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

// Encoded returns the object as encode encodes it. The number of the encoding is chosen by the
// program: in all calls it must stand for the same encoding. While the object is in the window,
// encode is called once for all callers with the same number, if the number is less than
// MaxEncodings, and otherwise at each call. The result must not be changed.
func (o *Object) Encoded(encoding int, encode func(*Object) []byte) []byte {
	cached := o.cachedEncodings(encoding)
	if cached == nil {
		return encode(o)
	}
	if encoded := cached.encoded[encoding].Load(); encoded != nil {
		return *encoded
	}
	encoded := encode(o)
	cached.encoded[encoding].Store(&encoded)
	return encoded
}

// EncodedPatch returns the object as a difference to a previous state of it, as encode encodes it;
// nil if it cannot be expressed. The encodings of patches are numbered as in [Object.Encoded], but
// separately. While the object is in the window, encode is called once for all callers with the same
// number and previous state. The result must not be changed.
func (o *Object) EncodedPatch(before *Object, encoding int, encode func(before, after *Object) []byte) []byte {
	cached := o.cachedEncodings(encoding)
	if cached == nil {
		return encode(before, o)
	}
	if cachedPatch := cached.patches[encoding].Load(); cachedPatch != nil && cachedPatch.before == before {
		return cachedPatch.encoded
	}
	cachedPatch := &patch{before, encode(before, o)}
	cached.patches[encoding].Store(cachedPatch)
	return cachedPatch.encoded
}
