package kubejson

import (
	"encoding/json"
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// Append appends the JSON of an object to dst. message is of the kind's protobuf type, without the
// API server's envelope, and is not changed. On an error dst is returned unchanged.
//
// The error is that of client-go's scheme, if it does not know the kind, or that of the kind's Go
// type, if it cannot read the message or write its JSON.
func Append(dst []byte, kind schema.GroupVersionKind, message []byte) ([]byte, error) {
	if root := rootOf(kind); root != nil && len(message) <= math.MaxInt32 {
		if written, ok := transcode(dst, root, message); ok {
			return written, nil
		}
	}
	return appendByGoType(dst, kind, message)
}

// transcode converts the message directly; false if the result is not certain to be right.
func transcode(dst []byte, root *message, content []byte) ([]byte, bool) {
	w := writers.Get().(*writer)
	w.out = dst
	ok := w.object(root, content)
	dst, w.out, w.slots = w.out, nil, w.slots[:0]
	writers.Put(w)
	return dst, ok
}

// appendByGoType converts the message through its Go type, which defines the right result.
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
