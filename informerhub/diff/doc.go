// Package diff computes a patch from one state of an object to the next, as bytes: a JSON merge
// patch (RFC 7386), which has the form of the object, or a JSON patch (RFC 6902), which reaches
// into lists.
//
// For both, the texts must be valid JSON. An invalid text is either rejected, or the patched text
// differs from it only in the invalid part. The texts are not changed, and the time grows with
// their length. There is no patch, and dst is returned unchanged, if the patch would have more than
// half of the bytes of the state after. The same applies if one of the texts is not an object, has
// a repeated name in an object where that matters, a number beyond a float64, more than 100 nested
// objects and lists, or more than 65,536 members.
package diff
