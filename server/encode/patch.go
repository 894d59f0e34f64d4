package encode

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/diff"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// WholeObject is the patch format of an event with a whole object.
const WholeObject = kubeconnectv1.PatchFormat_PATCH_FORMAT_UNSPECIFIED

// CheckPatches rejects a combination of patch format and encoding that is not supported.
func CheckPatches(patches kubeconnectv1.PatchFormat, encoding kubeconnectv1.Encoding) error {
	encoding = OrDefault(encoding)
	switch {
	case patches == WholeObject:
		return nil
	case patches == kubeconnectv1.PatchFormat_PATCH_FORMAT_JSON && encoding == kubeconnectv1.Encoding_ENCODING_JSON:
		return nil
	case patches == kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE && encoding != kubeconnectv1.Encoding_ENCODING_PROTOBUF:
		return nil
	}
	return apierror.BadRequest("patch_format %s is not supported for encoding %s: use MERGE with STRUCT or JSON, use JSON with JSON, or leave patch_format out",
		strings.TrimPrefix(patches.String(), "PATCH_FORMAT_"), strings.TrimPrefix(encoding.String(), "ENCODING_"))
}

// The encodings of patches.
var (
	mergeStruct    = patchEncoding(0, diff.MergePatch, objectStruct)
	mergeJSON      = patchEncoding(1, diff.MergePatch, objectJSON)
	operationsJSON = patchEncoding(2, diff.JSONPatch, objectJSON)
)

func patchEncoding(slot int, makePatch patchFunc, field protowire.Number) object.PatchEncoding {
	return object.PatchEncoding{Slot: slot, Encode: func(before, after *informerhub.Object) []byte {
		return patchBytes(before, after, makePatch, field)
	}}
}

// patchFunc appends the patch from one JSON object to another, and reports whether there is one.
type patchFunc func(dst, before, after []byte) (patch []byte, ok bool)

// encodedPatch returns the bytes of an object's message whose content is the patch from the object
// before the event. It returns nil if there is none. The bytes may be shared and must not be
// modified.
func encodedPatch(event informerhub.Event, encoding kubeconnectv1.Encoding, patches kubeconnectv1.PatchFormat) []byte {
	switch {
	case patches == kubeconnectv1.PatchFormat_PATCH_FORMAT_JSON:
		return event.EncodedPatch(operationsJSON)
	case encoding == kubeconnectv1.Encoding_ENCODING_JSON:
		return event.EncodedPatch(mergeJSON)
	}
	return event.EncodedPatch(mergeStruct)
}

// patchBytes encodes the patch for encodedPatch, in the field that contains both objects when they
// are sent completely. It returns nil, so that the whole object is sent, if there is no such field,
// if an object may have been sent without its content because it is too large, or if the patch does
// not fit into a Struct.
func patchBytes(before, after *informerhub.Object, makePatch patchFunc, field protowire.Number) []byte {
	old, now := scratches.Get().(*scratch), scratches.Get().(*scratch)
	defer old.release()
	defer now.release()
	var err error
	if old.text, err = before.AppendJSON(old.text[:0]); err != nil {
		return nil
	}
	if now.text, err = after.AppendJSON(now.text[:0]); err != nil {
		return nil
	}
	if max(len(old.text), len(now.text)) > MaxObjectBytes {
		return nil
	}
	patch, ok := makePatch(old.content[:0], old.text, now.text)
	old.content = patch
	if !ok {
		return nil
	}
	if field == objectJSON {
		return contentObject(after, field, patch)
	}
	return now.structPatch(after, old.text, patch)
}

// structPatch encodes a patch to an object that was requested as a Struct. s has the JSON of the
// object after it. A client applies the patch to what it has: if both objects are sent as JSON, the
// patch is JSON. If only one of them is, there is no patch, because the client would not have the
// object in the form of the following patch.
func (s *scratch) structPatch(after *informerhub.Object, before, patch []byte) []byte {
	fits := s.fitsStruct(before)
	switch {
	case s.fitsStruct(s.text) != fits:
		return nil
	case !fits:
		return contentObject(after, objectJSON, patch)
	case !s.fitsStruct(patch):
		return nil
	}
	return contentObject(after, objectStruct, s.content)
}

// fitsStruct creates the Struct of a JSON object in s.content. It reports whether the object is sent
// in this form.
func (s *scratch) fitsStruct(text []byte) (ok bool) {
	s.content, ok = appendStruct(s.content[:0], text, MaxObjectBytes)
	return ok
}
