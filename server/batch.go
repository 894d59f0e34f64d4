package server

import (
	"iter"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// The numbers of the fields whose bytes are put together here.
var (
	watchResponseEvents = fieldNumber(&kubeconnectv1.WatchResponse{}, "events")
	eventType           = fieldNumber(&kubeconnectv1.Event{}, "type")
	eventObject         = fieldNumber(&kubeconnectv1.Event{}, "object")
	eventVersion        = fieldNumber(&kubeconnectv1.Event{}, "resource_version")
	eventPatch          = fieldNumber(&kubeconnectv1.Event{}, "patch")
)

// whole is how an object is told that is no patch.
const whole = kubeconnectv1.PatchType_PATCH_TYPE_UNSPECIFIED

// batchEncoder makes the answers that tell a batch.
type batchEncoder struct {
	batch    informerhub.Batch
	encoding kubeconnectv1.Encoding
	patches  kubeconnectv1.PatchType // where they are known
	tokens   tokens
}

// encodedBatch is what an encoded batch depends on, beside the batch.
type encodedBatch struct {
	encoding          kubeconnectv1.Encoding
	patches           kubeconnectv1.PatchType
	selection, served string
}

// encodedResponse is an answer: the bytes of its events, and the token to resume with
// behind them, empty if there is none.
type encodedResponse struct {
	events []byte
	token  string
}

// responses are the answers, one after the other. None may be changed, and none kept
// beyond its turn.
func (e batchEncoder) responses() iter.Seq[encodedResponse] {
	key := encodedBatch{e.encoding, e.patches, string(e.tokens.selection), e.tokens.served()}
	shared, ok := e.batch.Encoded(key, func() any {
		var all []encodedResponse
		for encoded := range e.encode {
			all = append(all, encodedResponse{slices.Clone(encoded.events), encoded.token})
		}
		return all
	})
	if ok {
		return slices.Values(shared.([]encodedResponse))
	}
	return e.encode
}

// encode makes the answers, all in one buffer.
func (e batchEncoder) encode(yield func(encodedResponse) bool) {
	encoded := make([]byte, 0, capacityFor(e.objects, maxResponseBytes))
	for i, event := range e.batch.Events {
		object, patch := e.object(event)
		if size := eventSize(event, object, patch); len(encoded) > 0 && len(encoded)+size > maxResponseBytes {
			if !yield(encodedResponse{encoded, e.tokenAfter(i - 1)}) {
				return
			}
			encoded = encoded[:0]
		}
		encoded = appendEvent(encoded, event, object, patch)
	}
	yield(encodedResponse{encoded, e.tokenAfter(len(e.batch.Events) - 1)})
}

// object is that of an event, or the patch that makes it of the one before.
func (e batchEncoder) object(event informerhub.Event) (encoded []byte, patch kubeconnectv1.PatchType) {
	if event.Object == nil {
		return nil, whole
	}
	if e.patches != whole {
		if encoded := encodedPatch(event, e.encoding, e.patches); encoded != nil {
			return encoded, e.patches
		}
	}
	return encodedObject(event.Object, e.encoding), whole
}

// objects are those of the events; nil for an event without, or with a patch.
func (e batchEncoder) objects(yield func(*informerhub.Object) bool) {
	for _, event := range e.batch.Events {
		object := event.Object
		if e.patches != whole && event.Before != nil {
			object = nil
		}
		if !yield(object) {
			return
		}
	}
}

// tokenAfter is the token to resume with behind one of the events; empty if there is none.
func (e batchEncoder) tokenAfter(last int) string {
	position, ok := e.batch.PositionAfter(last)
	if !ok {
		return ""
	}
	return e.tokens.write(position)
}

// appendEvent adds an event, whose object has been encoded, to an answer.
func appendEvent(to []byte, event informerhub.Event, object []byte, patch kubeconnectv1.PatchType) []byte {
	to = protowire.AppendTag(to, watchResponseEvents, protowire.BytesType)
	to = protowire.AppendVarint(to, uint64(eventSize(event, object, patch)))
	to = protowire.AppendTag(to, eventType, protowire.VarintType)
	to = protowire.AppendVarint(to, uint64(eventTypes[event.Type]))
	if event.Object != nil {
		to = appendField(to, eventObject, object)
	}
	to = protowire.AppendTag(to, eventVersion, protowire.BytesType)
	to = protowire.AppendString(to, event.ResourceVersion)
	if patch != whole {
		to = protowire.AppendTag(to, eventPatch, protowire.VarintType)
		to = protowire.AppendVarint(to, uint64(patch))
	}
	return to
}

func eventSize(event informerhub.Event, object []byte, patch kubeconnectv1.PatchType) int {
	size := protowire.SizeTag(eventType) + protowire.SizeVarint(uint64(eventTypes[event.Type])) +
		protowire.SizeTag(eventVersion) + protowire.SizeBytes(len(event.ResourceVersion))
	if event.Object != nil {
		size += protowire.SizeTag(eventObject) + protowire.SizeBytes(len(object))
	}
	if patch != whole {
		size += protowire.SizeTag(eventPatch) + protowire.SizeVarint(uint64(patch))
	}
	return size
}
