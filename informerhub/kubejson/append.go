package kubejson

import (
	"encoding/json"
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// Append appends the JSON of an object to dst: a message of the kind's protobuf type,
// without the API server's envelope. The message is only read. On an error dst is
// answered as it was.
//
// The error is that of client-go's scheme, which does not know the kind, or of the
// kind's Go type, which cannot read the message or write its JSON.
func Append(dst []byte, kind schema.GroupVersionKind, message []byte) ([]byte, error) {
	if root := rootOf(kind); root != nil && len(message) <= math.MaxInt32 {
		if written, ok := transcode(dst, root, message); ok {
			return written, nil
		}
	}
	return appendByGoType(dst, kind, message)
}

// transcode is the direct way; false if it is not sure.
func transcode(dst []byte, root *message, content []byte) ([]byte, bool) {
	w := writers.Get().(*writer)
	w.out = dst
	ok := w.object(root, content)
	dst, w.out, w.slots = w.out, nil, w.slots[:0]
	writers.Put(w)
	return dst, ok
}

// appendByGoType is the way that defines what is right.
func appendByGoType(dst []byte, kind schema.GroupVersionKind, message []byte) ([]byte, error) {
	typed, err := scheme.Scheme.New(kind)
	if err != nil {
		return dst, err
	}
	if err := unmarshal(typed, message); err != nil {
		return dst, err
	}
	typed.GetObjectKind().SetGroupVersionKind(kind)
	text, err := json.Marshal(typed)
	if err != nil {
		return dst, err
	}
	return append(dst, text...), nil
}

func unmarshal(typed runtime.Object, message []byte) error {
	reader, ok := typed.(unmarshaler)
	if !ok {
		return fmt.Errorf("%T has no protobuf form", typed)
	}
	return reader.Unmarshal(message)
}
