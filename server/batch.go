package server

import (
	"context"
	"iter"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// The numbers of the fields that are encoded here.
var (
	watchResponseEvents = fieldNumber(&kubeconnectv1.WatchResponse{}, "events")
	eventType           = fieldNumber(&kubeconnectv1.Event{}, "type")
	eventObject         = fieldNumber(&kubeconnectv1.Event{}, "object")
	eventVersion        = fieldNumber(&kubeconnectv1.Event{}, "resource_version")
	eventPatch          = fieldNumber(&kubeconnectv1.Event{}, "patch")
)

// wholeObject is the patch type of an event with a whole object.
const wholeObject = kubeconnectv1.PatchType_PATCH_TYPE_UNSPECIFIED

// batchEncoder encodes a batch as responses.
type batchEncoder struct {
	batch    informerhub.Batch
	encoding kubeconnectv1.Encoding
	patches  kubeconnectv1.PatchType // the patch type of events whose Before is known
	tokens   tokens
	heavy    bool // encoded in processor slots
}

// encodedBatch is the cache key of an encoded batch: everything but the batch that the encoding
// depends on.
type encodedBatch struct {
	encoding          kubeconnectv1.Encoding
	patches           kubeconnectv1.PatchType
	selection, served string
}

// encodedResponse is a response: the encoded events, and the token to resume with after them, which
// is empty if there is none.
type encodedResponse struct {
	events []byte
	token  string
	last   int // index of its last event in the batch
	count  int // number of its events
}

// responses returns the responses in order. They must not be modified, or retained after the
// iteration. A large batch is encoded in processor slots of the caller in ctx. It yields an error
// only if ctx is done.
func (e batchEncoder) responses(ctx context.Context) iter.Seq2[encodedResponse, error] {
	return func(yield func(encodedResponse, error) bool) {
		shared, ok, err := e.shared(ctx)
		switch {
		case err != nil:
			yield(encodedResponse{}, err)
		case ok:
			for _, response := range shared {
				if !yield(response, nil) {
					return
				}
			}
		default:
			e.encodeAll(ctx, yield)
		}
	}
}

// shared returns the responses that are encoded once for all streams that send the batch. ok is
// false if no other stream can use them.
func (e batchEncoder) shared(ctx context.Context) (responses []encodedResponse, ok bool, err error) {
	if !e.batch.IsShared() {
		return nil, false, nil
	}
	end, err := e.beginSlot(ctx)
	if err != nil {
		return nil, false, err
	}
	defer end()
	key := encodedBatch{e.encoding, e.patches, string(e.tokens.selection), e.tokens.served()}
	shared, ok := e.batch.Encoded(key, func() any {
		var all []encodedResponse
		for next := e.begin(); !next.done(); {
			response := next.response()
			response.events = slices.Clone(response.events)
			all = append(all, response)
		}
		return all
	})
	if !ok {
		return nil, false, nil
	}
	return shared.([]encodedResponse), true, nil
}

func (e batchEncoder) encodeAll(ctx context.Context, yield func(encodedResponse, error) bool) {
	for next := e.begin(); !next.done(); {
		end, err := e.beginSlot(ctx)
		if err != nil {
			yield(encodedResponse{}, err)
			return
		}
		response := next.response()
		end()
		if !yield(response, nil) {
			return
		}
	}
}

// beginSlot waits for a processor slot if encoding a part of the batch may take long.
func (e batchEncoder) beginSlot(ctx context.Context) (end func(), err error) {
	if !e.heavy {
		return func() {}, nil
	}
	_, end, err = fairqueue.Begin(ctx)
	return end, err
}

// heavyBatch is the size in bytes of the objects above which a batch is encoded in processor slots.
const heavyBatch = 32 << 10

// bookmark returns the response of a batch that consists of a bookmark.
func (e batchEncoder) bookmark() encodedResponse { return e.begin().response() }

// responseEncoder encodes the responses of a batch one after the other, in one buffer.
type responseEncoder struct {
	batchEncoder
	buffer  []byte
	next    int    // index of the next event
	encoded bool   // object and patch belong to the next event
	object  []byte // nil if it has none
	patch   kubeconnectv1.PatchType
}

func (e batchEncoder) begin() *responseEncoder {
	return &responseEncoder{batchEncoder: e, buffer: make([]byte, 0, capacityFor(e.objects, maxEventsBytes))}
}

func (r *responseEncoder) done() bool { return r.next == len(r.batch.Events) }

// encode encodes the object of the next event.
func (r *responseEncoder) encode() {
	if !r.encoded {
		r.object, r.patch = r.batchEncoder.object(r.batch.Events[r.next])
		r.encoded = true
	}
}

// response returns the next response, which is valid until the following call.
func (r *responseEncoder) response() encodedResponse {
	if r.buffer = r.buffer[:0]; cap(r.buffer) > 2*maxEventsBytes {
		r.buffer = nil // it contained a large object
	}
	first := r.next
	for ; !r.done(); r.next++ {
		r.encode()
		event := r.batch.Events[r.next]
		if size := eventSize(event, r.object, r.patch); len(r.buffer) > 0 && len(r.buffer)+size > maxEventsBytes {
			break
		}
		r.buffer, r.encoded = appendEvent(r.buffer, event, r.object, r.patch), false
	}
	last := r.next - 1
	return encodedResponse{r.buffer, r.tokenAfter(last), last, r.next - first}
}

// object returns the encoded object of an event, or the patch from the object before it.
func (e batchEncoder) object(event informerhub.Event) (encoded []byte, patch kubeconnectv1.PatchType) {
	if event.Object == nil {
		return nil, wholeObject
	}
	if e.patches != wholeObject {
		if encoded := encodedPatch(event, e.encoding, e.patches); encoded != nil {
			return encoded, e.patches
		}
	}
	return encodedObject(event.Object, e.encoding), wholeObject
}

// objects yields the objects of the events, or nil for an event that has none or that is sent as a
// patch.
func (e batchEncoder) objects(yield func(*informerhub.Object) bool) {
	for _, event := range e.batch.Events {
		object := event.Object
		if e.patches != wholeObject && event.Before != nil {
			object = nil
		}
		if !yield(object) {
			return
		}
	}
}

// tokenAfter returns the token to resume with after an event, or an empty string if there is none.
func (e batchEncoder) tokenAfter(last int) string {
	position, ok := e.batch.PositionAfter(last)
	if !ok {
		return ""
	}
	return e.tokens.write(position)
}

// appendEvent appends an event, with its encoded object, to a response.
func appendEvent(dst []byte, event informerhub.Event, object []byte, patch kubeconnectv1.PatchType) []byte {
	dst = protowire.AppendTag(dst, watchResponseEvents, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(eventSize(event, object, patch)))
	dst = protowire.AppendTag(dst, eventType, protowire.VarintType)
	dst = protowire.AppendVarint(dst, uint64(eventTypes[event.Type]))
	if event.Object != nil {
		dst = appendField(dst, eventObject, object)
	}
	dst = protowire.AppendTag(dst, eventVersion, protowire.BytesType)
	dst = protowire.AppendString(dst, event.ResourceVersion)
	if patch != wholeObject {
		dst = protowire.AppendTag(dst, eventPatch, protowire.VarintType)
		dst = protowire.AppendVarint(dst, uint64(patch))
	}
	return dst
}

func eventSize(event informerhub.Event, object []byte, patch kubeconnectv1.PatchType) int {
	size := protowire.SizeTag(eventType) + protowire.SizeVarint(uint64(eventTypes[event.Type])) +
		protowire.SizeTag(eventVersion) + protowire.SizeBytes(len(event.ResourceVersion))
	if event.Object != nil {
		size += protowire.SizeTag(eventObject) + protowire.SizeBytes(len(object))
	}
	if patch != wholeObject {
		size += protowire.SizeTag(eventPatch) + protowire.SizeVarint(uint64(patch))
	}
	return size
}
