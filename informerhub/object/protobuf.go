package object

import (
	"bytes"
	"errors"
	"unique"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Numbers of the fields that are read, as defined by k8s.io/apimachinery.
const (
	unknownTypeMeta = 1 // runtime.Unknown
	unknownRaw      = 2

	typeMetaAPIVersion = 1 // runtime.TypeMeta
	typeMetaKind       = 2

	objectMetadata = 1 // every built-in kind

	listMetadata = 1 // every built-in list
	listItems    = 2

	listMetaResourceVersion = 2 // metav1.ListMeta
	listMetaContinue        = 3
	listMetaRemaining       = 4

	metaName            = 1 // metav1.ObjectMeta
	metaNamespace       = 3
	metaUID             = 5
	metaResourceVersion = 6
	metaLabels          = 11
	metaAnnotations     = 12
	metaManagedFields   = 17

	mapKey   = 1
	mapValue = 2
)

// protobufPrefix is the prefix of every protobuf body of the API server.
var protobufPrefix = []byte("k8s\x00")

var errMalformedProtobuf = errors.New("malformed protobuf from the API server")

// field is one field of a message: its number, its bytes with the tag, and its value if it is
// length-delimited or a varint.
type field struct {
	number protowire.Number
	whole  []byte
	bytes  []byte
	varint uint64
}

// eachField calls visit for each field of a message, in order, until visit returns false.
func eachField(message []byte, visit func(field) bool) error {
	for len(message) > 0 {
		number, kind, tagLength := protowire.ConsumeTag(message)
		if tagLength < 0 {
			return errMalformedProtobuf
		}
		length := protowire.ConsumeFieldValue(number, kind, message[tagLength:])
		if length < 0 {
			return errMalformedProtobuf
		}
		f := field{number: number, whole: message[:tagLength+length]}
		switch kind {
		case protowire.BytesType:
			f.bytes, _ = protowire.ConsumeBytes(message[tagLength:])
		case protowire.VarintType:
			f.varint, _ = protowire.ConsumeVarint(message[tagLength:])
		}
		if !visit(f) {
			return nil
		}
		message = message[tagLength+length:]
	}
	return nil
}

// envelope is a parsed protobuf body of the API server.
type envelope struct {
	apiVersion, kind string
	message          []byte
}

func openEnvelope(body []byte) (envelope, error) {
	unknown, found := bytes.CutPrefix(body, protobufPrefix)
	if !found {
		return envelope{}, errMalformedProtobuf
	}
	var e envelope
	err := eachField(unknown, func(f field) bool {
		switch f.number {
		case unknownTypeMeta:
			e.readTypeMeta(f.bytes)
		case unknownRaw:
			e.message = f.bytes
		}
		return true
	})
	return e, err
}

func (e *envelope) readTypeMeta(message []byte) {
	_ = eachField(message, func(f field) bool {
		switch f.number {
		case typeMetaAPIVersion:
			e.apiVersion = string(f.bytes)
		case typeMetaKind:
			e.kind = string(f.bytes)
		}
		return true
	})
}

// copyProtobufObject copies a message from a response body, without its managedFields unless
// keepManagedFields is set.
func copyProtobufObject(message []byte, keepManagedFields bool) ([]byte, error) {
	if keepManagedFields {
		return bytes.Clone(message), nil
	}
	var start, managed int // where metadata begins; the size of managedFields
	var metadata field
	if err := eachField(message, func(f field) bool {
		metadata = f
		if f.number != objectMetadata {
			start += len(f.whole)
		}
		return f.number != objectMetadata
	}); err != nil {
		return nil, err
	}
	if metadata.number != objectMetadata {
		return bytes.Clone(message), nil
	}
	if err := eachField(metadata.bytes, func(f field) bool {
		if f.number == metaManagedFields {
			managed += len(f.whole)
		}
		return true
	}); err != nil {
		return nil, err
	}
	before, after := message[:start], message[start+len(metadata.whole):]
	return spliceMetadata(before, metadata, after, managed), nil
}

// spliceMetadata rewrites a message without the managedFields of its metadata, into a slice of
// exactly the right size.
func spliceMetadata(before []byte, metadata field, after []byte, managed int) []byte {
	slim := len(metadata.bytes) - managed
	size := len(before) + protowire.SizeTag(objectMetadata) + protowire.SizeBytes(slim) + len(after)
	out := append(make([]byte, 0, size), before...)
	out = protowire.AppendTag(out, objectMetadata, protowire.BytesType)
	out = protowire.AppendVarint(out, uint64(slim))
	// This cannot fail: the same iteration has counted managed.
	_ = eachField(metadata.bytes, func(f field) bool {
		if f.number != metaManagedFields {
			out = append(out, f.whole...)
		}
		return true
	})
	return append(out, after...)
}

// readProtobufHead reads the head of an object from its bytes.
func (o *Object) readProtobufHead() error {
	var metadata []byte
	err := eachField(o.raw, func(f field) bool {
		if f.number == objectMetadata {
			metadata = f.bytes
		}
		return f.number != objectMetadata
	})
	if err != nil {
		return err
	}
	return eachField(metadata, func(f field) bool {
		o.readMetadataField(f)
		return true
	})
}

func (o *Object) readMetadataField(f field) {
	switch f.number {
	case metaName:
		o.name = view(f.bytes)
	case metaNamespace:
		o.namespace = view(f.bytes)
	case metaUID:
		o.uid = view(f.bytes)
	case metaResourceVersion:
		o.version = view(f.bytes)
	case metaLabels:
		key, value := readMapEntry(f.bytes)
		// unique.Make copies the strings that it has not seen before.
		o.labels = append(o.labels, unique.Make(Label{view(key), view(value)}))
	case metaAnnotations:
		if o.uid == "" { // only a bookmark has no UID
			key, _ := readMapEntry(f.bytes)
			o.endOfInitialEvents = o.endOfInitialEvents || view(key) == metav1.InitialEventsAnnotationKey
		}
	}
}

func readMapEntry(entry []byte) (key, value []byte) {
	_ = eachField(entry, func(f field) bool {
		switch f.number {
		case mapKey:
			key = f.bytes
		case mapValue:
			value = f.bytes
		}
		return true
	})
	return key, value
}

// readProtobufListMeta reads metav1.ListMeta.
func readProtobufListMeta(message []byte) (metav1.ListMeta, error) {
	var meta metav1.ListMeta
	err := eachField(message, func(f field) bool {
		switch f.number {
		case listMetaResourceVersion:
			meta.ResourceVersion = string(f.bytes)
		case listMetaContinue:
			meta.Continue = string(f.bytes)
		case listMetaRemaining:
			remaining := int64(f.varint)
			meta.RemainingItemCount = &remaining
		}
		return true
	})
	return meta, err
}

// protobufPath finds the field at a path of field numbers. It uses the first occurrence of a
// repeated field, and returns false if the field is not set.
func protobufPath(message []byte, path ...protowire.Number) (field, bool) {
	var found field
	var ok bool
	for _, number := range path {
		ok = false
		if err := eachField(message, func(f field) bool {
			if f.number == number {
				found, ok = f, true
			}
			return !ok
		}); err != nil || !ok {
			return field{}, false
		}
		message = found.bytes
	}
	return found, ok
}
