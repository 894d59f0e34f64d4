package informerhub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/informerhub/kubejson"
)

// Object is a Kubernetes object as the API server sent it, with a parsed head.
// It is immutable: share it, read it without a lock, never write to its bytes.
//
// It implements runtime.Object and metav1.ObjectMetaAccessor as far as
// client-go's Reflector needs them.
type Object struct {
	kind      *schema.GroupVersionKind // shared by all objects of a decoder
	raw       []byte
	masking   *masking // what the content is cut from; nil for an object with all of it
	namespace string   // the strings of the head point into raw
	name      string
	uid       string
	version   string
	labels    Labels
	forms     atomic.Pointer[forms]
	format    format

	// endOfInitialEvents is set on the bookmark that ends a watch-list.
	endOfInitialEvents bool
}

// format is the form of an object's bytes.
type format uint8

const (
	formatProtobuf format = iota // the kind's message, without the envelope
	formatJSON
	formatUnreadable // not even the head could be read as a whole
	formatHeadOnly   // the content was let go of
)

// Namespace is the object's namespace; empty if it is cluster-scoped.
func (o *Object) Namespace() string { return o.namespace }

// Name is the object's name.
func (o *Object) Name() string { return o.name }

// UID is the object's UID.
func (o *Object) UID() string { return o.uid }

// ResourceVersion is the object's resource version.
func (o *Object) ResourceVersion() string { return o.version }

// Labels are the object's labels.
func (o *Object) Labels() Labels { return o.labels }

// Kind is the object's kind.
func (o *Object) Kind() schema.GroupVersionKind { return *o.kind }

// Size is the number of bytes that the object occupies in a cache, roughly.
func (o *Object) Size() int {
	return len(o.raw) + int(unsafe.Sizeof(*o)) + len(o.labels)*int(unsafe.Sizeof(o.labels[0]))
}

// HasContent reports whether there is more to the object than its head. Of an object
// that was deleted long ago there is not.
func (o *Object) HasContent() bool { return o.format != formatHeadOnly }

// headOnly is an object without its content: what is remembered of it when it has
// been deleted. It shares no memory with the object.
func headOnly(o *Object) *Object { return gone(o, o.uid, o.version) }

// gone is what is told of an object of which no more is known than its name, and
// that it is not there at a version; its UID is empty if that is not known either.
func gone(o *Object, uid, version string) *Object {
	raw := []byte(o.namespace + o.name + uid + version)
	head := &Object{kind: o.kind, format: formatHeadOnly}
	for _, part := range []struct {
		from string
		to   *string
	}{
		{o.namespace, &head.namespace}, {o.name, &head.name}, {uid, &head.uid}, {version, &head.version},
	} {
		length := len(part.from)
		*part.to, raw = view(raw[:length]), raw[length:]
	}
	return head
}

// Protobuf is the object's protobuf message, without the API server's envelope;
// false if its kind has none.
func (o *Object) Protobuf() ([]byte, bool) {
	if o.masking != nil {
		return o.masking.whole.AppendMaskedProtobuf(nil, o.masking.by)
	}
	return o.raw, o.format == formatProtobuf
}

// JSON is the object as Kubernetes JSON. For a kind with a protobuf form it is
// made at each call: the bytes that encoding/json makes of client-go's Go type. The
// error says that the object cannot be read; its head still can.
func (o *Object) JSON() ([]byte, error) {
	if o.masking != nil {
		return o.AppendJSON(nil)
	}
	if o.format != formatProtobuf {
		return o.sentJSON()
	}
	buffer := jsonBuffers.Get().(*[]byte)
	defer jsonBuffers.Put(buffer)
	text, err := o.AppendJSON((*buffer)[:0])
	if err != nil {
		return nil, err
	}
	if cap(text) <= maxJSONBuffer {
		*buffer = text
	}
	return bytes.Clone(text), nil
}

// AppendJSON appends the object's JSON to dst, for those who have room for it: see JSON.
func (o *Object) AppendJSON(dst []byte) ([]byte, error) {
	if o.masking != nil {
		return o.masking.whole.AppendMaskedJSON(dst, o.masking.by)
	}
	if o.format != formatProtobuf {
		text, err := o.sentJSON()
		return append(dst, text...), err
	}
	dst = slices.Grow(dst, jsonPerProtobuf*len(o.raw))
	dst, err := kubejson.Append(dst, *o.kind, o.raw)
	if err != nil {
		return dst, fmt.Errorf("%s %s: the API server's protobuf cannot be read: %w", o.kind.Kind, o.key(), err)
	}
	return dst, nil
}

// jsonPerProtobuf is how many bytes of JSON a byte of protobuf makes, for most objects.
const jsonPerProtobuf = 2

// jsonBuffers hold JSON until its size is known. Large ones are not kept.
var jsonBuffers = sync.Pool{New: func() any { return new([]byte) }}

const maxJSONBuffer = 64 << 10

// sentJSON is the object's JSON if that is what the API server sent.
func (o *Object) sentJSON() ([]byte, error) {
	if o.format != formatJSON {
		return nil, fmt.Errorf("%s %s: what the API server sent cannot be read", o.kind.Kind, o.key())
	}
	if !json.Valid(o.raw) {
		return nil, fmt.Errorf("%s %s: the API server's JSON cannot be read", o.kind.Kind, o.key())
	}
	return o.raw, nil
}

// sameContent reports whether the API server sent the same bytes for both objects, but for
// white space around them: a watch's events end with a line break, a list's items do not.
func (o *Object) sameContent(other *Object) bool {
	if o.format != other.format {
		return false
	}
	if o.format == formatJSON {
		return bytes.Equal(bytes.TrimSpace(o.raw), bytes.TrimSpace(other.raw))
	}
	return bytes.Equal(o.raw, other.raw)
}

func (o *Object) key() string {
	if o.namespace == "" {
		return o.name
	}
	return o.namespace + "/" + o.name
}

// compare orders objects by namespace, then name.
func (o *Object) compare(namespace, name string) int {
	switch {
	case o.namespace < namespace:
		return -1
	case o.namespace > namespace:
		return 1
	case o.name < name:
		return -1
	case o.name > name:
		return 1
	}
	return 0
}

// GetObjectKind implements runtime.Object.
func (o *Object) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object: an immutable object is its own copy.
func (o *Object) DeepCopyObject() runtime.Object { return o }

// GetObjectMeta implements metav1.ObjectMetaAccessor: what the Reflector reads.
func (o *Object) GetObjectMeta() metav1.Object {
	meta := &metav1.ObjectMeta{
		Namespace:       o.namespace,
		Name:            o.name,
		UID:             types.UID(o.uid),
		ResourceVersion: o.version,
	}
	if o.endOfInitialEvents {
		meta.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return meta
}

// objectList is what a LIST is decoded to.
type objectList struct {
	metav1.ListMeta
	Items []*Object
}

func (l *objectList) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
func (l *objectList) DeepCopyObject() runtime.Object   { return l }

// view is b as a string that shares b's memory; b must never change.
func view(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b))
}
