package main

import (
	"bytes"
	"errors"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// cachedPod is a pod as the service caches it: its metadata is decoded, and its content is not.
type cachedPod struct {
	metav1.PartialObjectMetadata
	content []byte
}

// cachedPods is a list of pods.
type cachedPods struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []cachedPod
}

// DeepCopyObject implements runtime.Object. Nothing that is measured copies a list.
func (p *cachedPods) DeepCopyObject() runtime.Object { panic("a list is not copied") }

// podCodec makes a REST client decode pods of protobuf responses into cachedPods.
type podCodec struct{ runtime.NegotiatedSerializer }

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (c podCodec) SupportedMediaTypes() (infos []runtime.SerializerInfo) {
	for _, info := range c.NegotiatedSerializer.SupportedMediaTypes() {
		if info.MediaType == asProtobuf {
			info.Serializer = podDecoder{}
			infos = append(infos, info)
		}
	}
	return infos
}

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (podCodec) DecoderToVersion(decoder runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	return decoder
}

// podDecoder is a runtime.Serializer.
type podDecoder struct{}

// The numbers of fields that are read. Source: generated.proto of k8s.io/apimachinery/pkg/runtime,
// k8s.io/apimachinery/pkg/apis/meta/v1 and k8s.io/api/core/v1.
const (
	unknownTypeMeta protowire.Number = 1
	typeMetaKind    protowire.Number = 2
	listMetadata    protowire.Number = 1
	listItems       protowire.Number = 2
)

// Decode implements runtime.Decoder.
func (podDecoder) Decode(
	body []byte, _ *schema.GroupVersionKind, _ runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	message, found := bytes.CutPrefix(body, storedPrefix)
	if !found {
		return nil, nil, errors.New("the response is not protobuf")
	}
	var object runtime.Object
	var err error
	switch content := fieldOf(message, unknownRaw); string(fieldOf(fieldOf(message, unknownTypeMeta), typeMetaKind)) {
	case "Status":
		status := &metav1.Status{}
		object, err = status, status.Unmarshal(content)
	case "PodList":
		object, err = decodePods(content)
	default:
		pod := &cachedPod{}
		object, err = pod, pod.decode(content)
	}
	return object, nil, err
}

func decodePods(content []byte) (*cachedPods, error) {
	list := &cachedPods{}
	var failed error
	eachField(content, func(number protowire.Number, value []byte) {
		switch number {
		case listMetadata:
			failed = errors.Join(failed, list.ListMeta.Unmarshal(value))
		case listItems:
			list.Items = append(list.Items, cachedPod{})
			failed = errors.Join(failed, list.Items[len(list.Items)-1].decode(value))
		}
	})
	return list, failed
}

func (p *cachedPod) decode(content []byte) error {
	p.content = bytes.Clone(content)
	err := p.Unmarshal(content) // skips spec and status, which PartialObjectMetadata does not have
	p.ManagedFields = nil
	return err
}

// Encode implements runtime.Encoder.
func (podDecoder) Encode(runtime.Object, io.Writer) error { return errors.New("pods are only read") }

// Identifier implements runtime.Encoder.
func (podDecoder) Identifier() runtime.Identifier { return "bench" }
