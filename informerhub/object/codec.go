package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// Codec makes a REST client of client-go decode responses of the API server into [Object]s, for any
// resource. It implements runtime.NegotiatedSerializer.
//
// Only the head is decoded. One object that cannot be read does not affect the others of its kind:
// it has an error instead of its content. It is left out, and logged, only if not even its name can
// be read.
type Codec struct {
	// Kind is the kind of the objects. If it is empty, the kind is read from the response.
	Kind schema.GroupVersionKind
	// KeepManagedFields keeps metadata.managedFields, which is dropped otherwise.
	KeepManagedFields bool
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer: client-go's own framing through a
// buffer, with the decoders of this package.
func (c *Codec) SupportedMediaTypes() []runtime.SerializerInfo {
	var infos []runtime.SerializerInfo
	for _, info := range scheme.Codecs.SupportedMediaTypes() {
		if info.StreamSerializer == nil {
			continue // YAML
		}
		stream := *info.StreamSerializer
		stream.Framer = bufferedFramer{stream.Framer}
		switch info.MediaType {
		case runtime.ContentTypeProtobuf:
			info.Serializer = decoder{c.decodeProtobuf}
			stream.Serializer = eventDecoder{stream.Serializer}
		case runtime.ContentTypeJSON:
			info.Serializer = decoder{c.decodeJSON}
		default:
			continue
		}
		info.StreamSerializer = &stream
		infos = append(infos, info)
	}
	return infos
}

// EncoderForVersion implements runtime.NegotiatedSerializer.
func (c *Codec) EncoderForVersion(encoder runtime.Encoder, _ runtime.GroupVersioner) runtime.Encoder {
	return encoder
}

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (c *Codec) DecoderToVersion(decoder runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	return decoder
}

// decoder is a runtime.Serializer that decodes with a function.
type decoder struct {
	decode func(body []byte) (runtime.Object, error)
}

func (d decoder) Decode(
	body []byte, _ *schema.GroupVersionKind, _ runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	object, err := d.decode(body)
	return object, nil, err
}

func (d decoder) Encode(runtime.Object, io.Writer) error {
	return errors.New("informerhub only reads")
}

func (d decoder) Identifier() runtime.Identifier { return "informerhub" }

func (c *Codec) decodeProtobuf(body []byte) (runtime.Object, error) {
	e, err := openEnvelope(body)
	if err != nil {
		return nil, err
	}
	switch {
	case e.kind == "Status" && e.apiVersion == "v1":
		status := &metav1.Status{}
		return status, status.Unmarshal(e.message)
	case e.kind == c.Kind.Kind+"List", e.kind == PartialListKind:
		return c.decodeProtobufList(e.message)
	}
	return c.forKind(e.apiVersion, e.kind).protobufObject(e.message), nil
}

// forKind returns a codec for the kind of a response, unless the codec already has a kind.
func (c *Codec) forKind(apiVersion, kind string) *Codec {
	if !c.Kind.Empty() {
		return c
	}
	return &Codec{Kind: schema.FromAPIVersionAndKind(apiVersion, kind), KeepManagedFields: c.KeepManagedFields}
}

func (c *Codec) decodeProtobufList(message []byte) (runtime.Object, error) {
	list := &List{}
	var nested error
	err := eachField(message, func(f field) bool {
		switch f.number {
		case listMetadata:
			list.ListMeta, nested = readProtobufListMeta(f.bytes)
		case listItems:
			list.Items = append(list.Items, c.protobufObject(f.bytes))
		}
		return nested == nil
	})
	return list, errors.Join(err, nested)
}

func (c *Codec) protobufObject(message []byte) *Object {
	raw, err := copyProtobufObject(message, c.KeepManagedFields)
	if err != nil {
		raw = bytes.Clone(message)
	}
	object := &Object{kind: &c.Kind, format: formatProtobuf, raw: raw}
	return c.markUnreadable(object, errors.Join(err, object.readProtobufHead()))
}

func (c *Codec) decodeJSON(body []byte) (runtime.Object, error) {
	var kind, apiVersion string
	var metadata, items []byte
	body = bytes.TrimSpace(body)
	err := eachMember(body, func(m member) bool {
		switch m.key {
		case "kind":
			kind = jsonString(m.value)
		case "apiVersion":
			apiVersion = jsonString(m.value)
		case "metadata":
			metadata = m.value
		case "items":
			items = m.value
		}
		return true
	})
	switch {
	case err != nil:
		return nil, err
	case kind == "Status" && apiVersion == "v1":
		status := &metav1.Status{}
		return status, json.Unmarshal(body, status)
	case kind != c.Kind.Kind && items != nil: // a custom resource can name its list kind freely
		return c.decodeJSONList(metadata, items)
	}
	return c.forKind(apiVersion, kind).jsonObject(body), nil
}

func (c *Codec) decodeJSONList(metadata, items []byte) (runtime.Object, error) {
	list := &List{}
	if len(metadata) > 0 {
		if err := json.Unmarshal(metadata, &list.ListMeta); err != nil {
			return nil, err
		}
	}
	if items[0] != '[' { // null
		return list, nil
	}
	err := eachElement(items, func(item []byte) {
		list.Items = append(list.Items, c.jsonObject(c.withKind(item)))
	})
	return list, err
}

// withKind returns an item of a list as a separate object. If the API server has a Go type for the
// kind, only the list has the kind.
func (c *Codec) withKind(item []byte) []byte {
	if c.Kind.Empty() || !bytes.HasPrefix(item, []byte("{")) || len(jsonMember(item, "kind")) > 0 {
		return item
	}
	apiVersion, kind := c.Kind.ToAPIVersionAndKind()
	// In the order of metav1.TypeMeta, in which an event has the same object.
	named := fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q`, kind, apiVersion)
	if !bytes.HasPrefix(bytes.TrimSpace(item[1:]), []byte("}")) {
		named = append(named, ',')
	}
	return append(named, item[1:]...)
}

func (c *Codec) jsonObject(text []byte) *Object {
	raw, err := copyJSONObject(text, c.KeepManagedFields)
	if err != nil {
		raw = bytes.Clone(text)
	}
	object := &Object{kind: &c.Kind, format: formatJSON, raw: raw}
	return c.markUnreadable(object, errors.Join(err, object.readJSONHead()))
}

// markUnreadable marks an object as unreadable if reading its head has failed. The head has the
// fields that could be read.
func (c *Codec) markUnreadable(object *Object, err error) *Object {
	if err != nil {
		object.format = formatUnreadable
		slog.Error("an object cannot be read", "kind", c.Kind.String(), "object", object.Key(), "error", err)
	}
	return object
}

// Read reads an object from the body of an API server's response, protobuf or JSON, with all
// its content. It copies the body.
func Read(body []byte) (*Object, error) {
	if e, err := openEnvelope(body); err == nil {
		groupVersion, err := schema.ParseGroupVersion(e.apiVersion)
		if err != nil {
			return nil, err
		}
		kind := groupVersion.WithKind(e.kind)
		object := &Object{kind: &kind, format: formatProtobuf, raw: bytes.Clone(e.message)}
		return object, object.readProtobufHead()
	}
	body = bytes.Clone(body)
	kind := schema.FromAPIVersionAndKind(
		jsonString(jsonMember(body, "apiVersion")), jsonString(jsonMember(body, "kind")))
	object := &Object{kind: &kind, format: formatJSON, raw: body}
	return object, object.readJSONHead()
}
