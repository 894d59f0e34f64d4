package object

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"unique"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/informerhub/internal/kubejson"
)

// Object is a Kubernetes object as the API server sent it, with a parsed head. It is immutable:
// share it, read it without a lock, never write to its bytes.
//
// It implements runtime.Object and metav1.ObjectMetaAccessor as far as client-go's Reflector needs
// them.
type Object struct {
	kind      *schema.GroupVersionKind // shared by all objects of a decoder
	raw       []byte
	masking   *masking // source of the content and its mask; nil for an object with all content
	namespace string   // the strings of the head point into raw
	name      string
	uid       string
	version   string
	labels    Labels
	encodings atomic.Pointer[encodingCache]
	format    format

	// endOfInitialEvents is set on the bookmark that ends a watch-list.
	endOfInitialEvents bool
}

// format is the format of an object's bytes.
type format uint8

const (
	formatProtobuf format = iota // the kind's message, without the envelope
	formatJSON
	formatUnreadable // not even the head could be read completely
	formatHeadOnly   // the content was released
)

// Namespace returns the object's namespace; empty if it is cluster-scoped.
func (o *Object) Namespace() string { return o.namespace }

// Name returns the object's name.
func (o *Object) Name() string { return o.name }

// UID returns the object's UID.
func (o *Object) UID() string { return o.uid }

// ResourceVersion returns the object's resource version.
func (o *Object) ResourceVersion() string { return o.version }

// Labels returns the object's labels.
func (o *Object) Labels() Labels { return o.labels }

// Kind returns the object's kind.
func (o *Object) Kind() schema.GroupVersionKind { return *o.kind }

// Size returns the approximate number of bytes that the object occupies in a cache.
func (o *Object) Size() int {
	return len(o.raw) + int(unsafe.Sizeof(*o)) + len(o.labels)*int(unsafe.Sizeof(o.labels[0]))
}

// Probe returns an object with only a name, to search for that name among ordered objects.
func Probe(name string) *Object { return &Object{name: name} }

// HasContent reports whether the object has more than its head. An object that was deleted long ago
// has only its head.
func (o *Object) HasContent() bool { return o.format != formatHeadOnly }

// HeadOnly returns the object without its content. It shares no memory with the object.
func (o *Object) HeadOnly() *Object { return o.Tombstone(o.uid, o.version) }

// Tombstone returns an object with only a head: the name of o, a UID, and the version at which it
// does not exist. The UID is empty if it is unknown.
func (o *Object) Tombstone(uid, version string) *Object {
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

// Protobuf returns the object's protobuf message, without the API server's envelope; false if its
// kind has none.
func (o *Object) Protobuf() ([]byte, bool) {
	if o.masking != nil {
		return o.masking.source.AppendMaskedProtobuf(nil, o.masking.fields)
	}
	return o.raw, o.format == formatProtobuf
}

// JSON returns the object as Kubernetes JSON. For a kind with a protobuf form it is encoded at each
// call, to the bytes that encoding/json makes of client-go's Go type. It fails if the object cannot
// be read; its head still can.
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

// AppendJSON appends the object's JSON to dst: see JSON. It saves the copy if dst has capacity.
func (o *Object) AppendJSON(dst []byte) ([]byte, error) {
	if o.masking != nil {
		return o.masking.source.AppendMaskedJSON(dst, o.masking.fields)
	}
	if o.format != formatProtobuf {
		text, err := o.sentJSON()
		return append(dst, text...), err
	}
	dst = slices.Grow(dst, jsonPerProtobuf*len(o.raw))
	dst, err := kubejson.Append(dst, *o.kind, o.raw)
	if err != nil {
		return dst, fmt.Errorf("%s %s: the API server's protobuf cannot be read: %w", o.kind.Kind, o.Key(), err)
	}
	return dst, nil
}

// jsonPerProtobuf is the ratio of JSON bytes to protobuf bytes, for most objects.
const jsonPerProtobuf = 2

// jsonBuffers hold JSON until its size is known. Large ones are not reused.
var jsonBuffers = sync.Pool{New: func() any { return new([]byte) }}

const maxJSONBuffer = 64 << 10

// sentJSON returns the object's JSON if the API server sent JSON.
func (o *Object) sentJSON() ([]byte, error) {
	if o.format != formatJSON {
		return nil, fmt.Errorf("%s %s: the bytes that the API server sent cannot be read", o.kind.Kind, o.Key())
	}
	if !json.Valid(o.raw) {
		return nil, fmt.Errorf("%s %s: the API server's JSON cannot be read", o.kind.Kind, o.Key())
	}
	return o.raw, nil
}

// SameContent reports whether the API server sent the same bytes for both objects, apart from
// surrounding white space: a watch's events end with a line break, a list's items do not.
func (o *Object) SameContent(other *Object) bool {
	if o.format != other.format {
		return false
	}
	if o.format == formatJSON {
		return bytes.Equal(bytes.TrimSpace(o.raw), bytes.TrimSpace(other.raw))
	}
	return bytes.Equal(o.raw, other.raw)
}

// Key returns the object's namespace and name: "namespace/name", or "name" if it is cluster-scoped.
func (o *Object) Key() string {
	if o.namespace == "" {
		return o.name
	}
	return o.namespace + "/" + o.name
}

// Compare compares the object's namespace and name with others: objects are ordered by namespace,
// then name.
func (o *Object) Compare(namespace, name string) int {
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

// Generation returns the object's metadata.generation, if the API server sent it as JSON; 0
// otherwise.
func (o *Object) Generation() int64 {
	generation, _ := strconv.ParseInt(string(jsonMember(jsonMember(o.raw, "metadata"), "generation")), 10, 64)
	return generation
}

// GetObjectKind implements runtime.Object.
func (o *Object) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object: an immutable object is its own copy.
func (o *Object) DeepCopyObject() runtime.Object { return o }

// GetObjectMeta implements metav1.ObjectMetaAccessor with the fields that the Reflector reads.
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

// List is the decoded result of a LIST.
type List struct {
	metav1.ListMeta
	Items []*Object
}

// GetObjectKind implements runtime.Object.
func (l *List) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object: the objects of a list are immutable.
func (l *List) DeepCopyObject() runtime.Object { return l }

// view returns b as a string that shares b's memory; b must never change.
func view(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// RetainedSize returns the memory that the object retains; 0 for a nil object. A masked object
// retains the whole one.
func (o *Object) RetainedSize() int {
	switch {
	case o == nil:
		return 0
	case o.masking != nil:
		return o.Size() + o.masking.source.Size()
	}
	return o.Size()
}

// Label is one label of an object.
type Label struct{ Key, Value string }

// Labels are the labels of an object. Equal labels of all objects share their memory. Labels
// implements the Labels interface of apimachinery's selectors.
type Labels []unique.Handle[Label]

// Lookup returns the value of a label.
func (l Labels) Lookup(key string) (value string, exists bool) {
	for _, handle := range l {
		if label := handle.Value(); label.Key == key {
			return label.Value, true
		}
	}
	return "", false
}

// Has reports whether there is a label with the key.
func (l Labels) Has(key string) bool {
	_, exists := l.Lookup(key)
	return exists
}

// Get returns the value of a label; empty if there is none.
func (l Labels) Get(key string) string {
	value, _ := l.Lookup(key)
	return value
}
