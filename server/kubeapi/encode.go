package kubeapi

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/server/encode"
)

// partialKind is the kind of the metadata of an object.
var partialKind = metav1.SchemeGroupVersion.WithKind(object.PartialKind)

// onlyMetadata returns an object that is reduced to its metadata, as a PartialObjectMetadata.
func onlyMetadata(o *informerhub.Object) *informerhub.Object {
	fields, _ := encode.Fields(nil, true) // fails for invalid paths only
	return o.Masked(fields)
}

// encoder writes objects of one resource in one form. It is a value.
type encoder struct {
	resource informerhub.Resource
	form     form
}

// kind returns the kind of single objects.
func (e encoder) kind() schema.GroupVersionKind {
	if e.form.partial {
		return partialKind
	}
	return e.resource.GroupVersionKind()
}

// appendObject appends one object.
func (e encoder) appendObject(dst []byte, o *informerhub.Object) ([]byte, error) {
	if e.form.partial {
		o = onlyMetadata(o)
	}
	if !e.form.protobuf {
		begin := len(dst)
		dst, err := o.AppendJSON(dst)
		return append(dst[:begin], bytes.TrimSpace(dst[begin:])...), err
	}
	message, err := e.message(o)
	if err != nil {
		return dst, err
	}
	dst = appendEnvelope(dst, e.kind(), len(message))
	return append(append(dst, message...), envelopeEnd...), nil
}

// message returns the protobuf message of an object. Custom resources have one of their metadata only.
func (e encoder) message(o *informerhub.Object) ([]byte, error) {
	if message, ok := o.Protobuf(); ok {
		return message, nil
	}
	text, err := o.JSON()
	if err != nil {
		return nil, err
	}
	var partial metav1.PartialObjectMetadata
	if err := json.Unmarshal(text, &partial); err != nil {
		return nil, fmt.Errorf("the metadata of %s %s: %w", e.resource.Kind, o.Key(), err)
	}
	return partial.Marshal()
}

// appendItem appends an object as an item of a list. In JSON, items of built-in kinds have no kind of their own.
func (e encoder) appendItem(dst []byte, o *informerhub.Object) ([]byte, error) {
	if e.form.partial {
		o = onlyMetadata(o)
	}
	if e.form.protobuf {
		message, err := e.message(o)
		if err != nil {
			return dst, err
		}
		return protowire.AppendBytes(protowire.AppendTag(dst, listItems, protowire.BytesType), message), nil
	}
	begin := len(dst)
	dst, err := o.AppendJSON(dst)
	if err != nil {
		return dst, err
	}
	item := bytes.TrimSpace(dst[begin:])
	if isTyped(e.resource) && !e.form.partial {
		if rest, found := bytes.CutPrefix(item, typeMetaOf(e.kind())); found {
			rest = bytes.TrimPrefix(rest, []byte(","))
			dst[begin] = '{'
			return append(dst[:begin+1], rest...), nil
		}
	}
	return append(dst[:begin], item...), nil
}

// typeMetaOf returns the beginning of the JSON of a built-in kind.
func typeMetaOf(kind schema.GroupVersionKind) []byte {
	apiVersion, name := kind.ToAPIVersionAndKind()
	return fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q`, name, apiVersion)
}

// listMeta is the metadata of a page of a list.
type listMeta struct {
	version   string
	next      string // the token of the next page; empty if there is none
	remaining *int64 // objects after the page; nil if it is not known
}

// Numbers of the fields of lists, as defined by k8s.io/apimachinery.
const (
	listItems = 2

	unknownTypeMeta, unknownRaw           = 1, 2
	typeMetaAPIVersion, typeMetaKind      = 1, 2
	watchEventType, watchEventObject      = 1, 2
	rawExtensionRaw                       = 1
	listMetadata                          = 1
	contentEncodingAndTypeOfUnknown  byte = 0
)

var (
	protobufPrefix = []byte("k8s\x00")
	// envelopeEnd are the empty contentEncoding and contentType of a runtime.Unknown.
	envelopeEnd = []byte{0x1a, contentEncodingAndTypeOfUnknown, 0x22, contentEncodingAndTypeOfUnknown}
)

// appendEnvelope appends what precedes a message of a kind. envelopeEnd follows the message.
func appendEnvelope(dst []byte, kind schema.GroupVersionKind, length int) []byte {
	apiVersion, name := kind.ToAPIVersionAndKind()
	typeMeta := protowire.AppendString(protowire.AppendTag(nil, typeMetaAPIVersion, protowire.BytesType), apiVersion)
	typeMeta = protowire.AppendString(protowire.AppendTag(typeMeta, typeMetaKind, protowire.BytesType), name)
	dst = append(dst, protobufPrefix...)
	dst = protowire.AppendBytes(protowire.AppendTag(dst, unknownTypeMeta, protowire.BytesType), typeMeta)
	return protowire.AppendVarint(protowire.AppendTag(dst, unknownRaw, protowire.BytesType), uint64(length))
}

// listKind returns the kind of a list.
func (e encoder) listKind() schema.GroupVersionKind {
	kind := e.kind()
	kind.Kind += "List"
	return kind
}

// appendListBegin appends what precedes the items of a list, whose messages have a number of bytes in protobuf.
func (e encoder) appendListBegin(dst []byte, meta listMeta, itemBytes int) []byte {
	of := metav1.ListMeta{ResourceVersion: meta.version, Continue: meta.next, RemainingItemCount: meta.remaining}
	if e.form.protobuf {
		message, _ := of.Marshal() // never fails
		head := protowire.AppendBytes(protowire.AppendTag(nil, listMetadata, protowire.BytesType), message)
		return append(appendEnvelope(dst, e.listKind(), len(head)+itemBytes), head...)
	}
	text, _ := json.Marshal(of) // never fails
	if !isTyped(e.resource) && !e.form.partial && meta.next == "" {
		// Lists of custom resources always have the member.
		text = append([]byte(`{"continue":"",`), text[1:]...)
	}
	dst = append(append(dst, typeMetaOf(e.listKind())...), `,"metadata":`...)
	return append(append(dst, text...), `,"items":`...)
}

// itemBytes returns the number of bytes of the items of a list in protobuf; 0 in JSON, which does not need it.
func (e encoder) itemBytes(objects []*informerhub.Object) (total int, err error) {
	if !e.form.protobuf {
		return 0, nil
	}
	for _, o := range objects {
		if e.form.partial {
			o = onlyMetadata(o)
		}
		message, err := e.message(o)
		if err != nil {
			return 0, err
		}
		total += protowire.SizeTag(listItems) + protowire.SizeBytes(len(message))
	}
	return total, nil
}

// separator returns what precedes the item of an index.
func (e encoder) separator(i int) string {
	switch {
	case e.form.protobuf:
		return ""
	case i == 0:
		return "["
	}
	return ","
}

// listEnd returns what follows a number of items of a list.
func (e encoder) listEnd(items int) string {
	switch {
	case e.form.protobuf:
		return string(envelopeEnd)
	case items == 0 && e.form.partial:
		return "null}\n"
	case items == 0:
		return "[]}\n"
	}
	return "]}\n"
}

// appendEvent appends an event of a watch with an encoded object.
func (e encoder) appendEvent(dst []byte, eventType string, encoded []byte) []byte {
	if !e.form.protobuf {
		dst = fmt.Appendf(dst, `{"type":%q,"object":`, eventType)
		return append(append(dst, encoded...), '}', '\n')
	}
	raw := protowire.SizeTag(rawExtensionRaw) + protowire.SizeBytes(len(encoded))
	length := protowire.SizeTag(watchEventType) + protowire.SizeBytes(len(eventType)) + protowire.SizeTag(watchEventObject) + protowire.SizeBytes(raw)
	dst = append(dst, byte(length>>24), byte(length>>16), byte(length>>8), byte(length))
	dst = protowire.AppendString(protowire.AppendTag(dst, watchEventType, protowire.BytesType), eventType)
	dst = protowire.AppendVarint(protowire.AppendTag(dst, watchEventObject, protowire.BytesType), uint64(raw))
	return protowire.AppendBytes(protowire.AppendTag(dst, rawExtensionRaw, protowire.BytesType), encoded)
}
