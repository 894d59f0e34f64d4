package server

import (
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mergepatch"
)

// encodedPatch is the bytes of an object's message with the patch that makes it of the
// one before as its content; nil if there is none. They may be shared: never change them.
func encodedPatch(event informerhub.Event, encoding kubeconnectv1.Encoding) []byte {
	encoding = orDefault(encoding)
	return event.EncodedPatch(int(encoding), func(before, after *informerhub.Object) []byte {
		return patchBytes(before, after, encoding)
	})
}

// patchBytes makes them. A text that has a patch has been sent whole: whatever cannot be
// said as a Struct has none.
func patchBytes(before, after *informerhub.Object, encoding kubeconnectv1.Encoding) []byte {
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
	patch, ok := mergepatch.Diff(old.content[:0], old.text, now.text)
	old.content = patch
	if !ok {
		return nil
	}
	if encoding == kubeconnectv1.Encoding_ENCODING_JSON {
		return contentObject(after, objectJSON, patch)
	}
	content, ok := appendStruct(now.content[:0], patch)
	now.content = content
	if !ok {
		return nil
	}
	return contentObject(after, objectStruct, content)
}
