package encode

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
	watchResponseEvents = FieldNumber(&kubeconnectv1.WatchResponse{}, "events")
	eventType           = FieldNumber(&kubeconnectv1.Event{}, "type")
	eventObject         = FieldNumber(&kubeconnectv1.Event{}, "object")
	eventVersion        = FieldNumber(&kubeconnectv1.Event{}, "resource_version")
	eventPatch          = FieldNumber(&kubeconnectv1.Event{}, "patch_format")
	eventIndex          = FieldNumber(&kubeconnectv1.Event{}, "index")
)

// MaxEventsBytes is the size of several events at which a message is sent and not filled further. A
// message with one event can be larger.
const MaxEventsBytes = 64 << 10

// Place is the place of an event's object in a page.
type Place struct {
	Index int
	Moved bool // the object has another place, and is otherwise unchanged
	// Joined are the results of joins for the object; see AppendJoined.
	Joined string
}

// Events encodes the events of a batch as responses. All fields but Places, Patches and Heavy are
// required.
type Events struct {
	Batch    informerhub.Batch
	Places   []Place // of the events, if the watch has a page; such a batch is not shared
	Encoding kubeconnectv1.Encoding
	Patches  kubeconnectv1.PatchFormat // the patch format of events whose Before is known
	Tokens   Tokens
	Heavy    bool // encoded in processor slots
}

// Tokens encodes the resume tokens of a watch.
type Tokens interface {
	// Key identifies the watch and its history: tokens with equal keys are equal.
	Key() string
	// Write returns the token of a position.
	Write(position informerhub.Position) string
}

// encodedBatch is the cache key of an encoded batch: everything but the batch that the encoding
// depends on.
type encodedBatch struct {
	encoding kubeconnectv1.Encoding
	patches  kubeconnectv1.PatchFormat
	tokens   string
}

// Response is the content of a response.
type Response struct {
	Events []byte // the encoded events
	Token  string // the token to resume with after them; empty if there is none
	Last   int    // index of its last event in the batch
	Count  int    // number of its events
}

// Responses returns the responses in order. They must not be modified, or retained after the
// iteration. A large batch is encoded in processor slots of the caller in ctx. It yields an error
// only if ctx is done.
func (e Events) Responses(ctx context.Context) iter.Seq2[Response, error] {
	return func(yield func(Response, error) bool) {
		shared, ok, err := e.shared(ctx)
		switch {
		case err != nil:
			yield(Response{}, err)
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
func (e Events) shared(ctx context.Context) (responses []Response, ok bool, err error) {
	if !e.Batch.IsShared() {
		return nil, false, nil
	}
	end, err := e.beginSlot(ctx)
	if err != nil {
		return nil, false, err
	}
	defer end()
	key := encodedBatch{e.Encoding, e.Patches, e.Tokens.Key()}
	return informerhub.Derived(e.Batch, key, e.all), true, nil
}

// all returns the responses of the batch.
func (e Events) all() (responses []Response) {
	for next := e.begin(); !next.done(); {
		response := next.response()
		response.Events = slices.Clone(response.Events)
		responses = append(responses, response)
	}
	return responses
}

func (e Events) encodeAll(ctx context.Context, yield func(Response, error) bool) {
	for next := e.begin(); !next.done(); {
		end, err := e.beginSlot(ctx)
		if err != nil {
			yield(Response{}, err)
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
func (e Events) beginSlot(ctx context.Context) (end func(), err error) {
	if !e.Heavy {
		return func() {}, nil
	}
	_, end, err = fairqueue.Begin(ctx)
	return end, err
}

// HeavyBatch is the size in bytes of the objects above which a batch is encoded in processor slots.
const HeavyBatch = 32 << 10

// Bookmark returns a response that consists of a bookmark, after which a stream resumes with a token.
func Bookmark(version, token string) Response {
	event := encodedEvent{kind: kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK, version: version}
	return Response{Events: event.append(nil), Token: token, Count: 1}
}

// responseEncoder encodes the responses of a batch one after the other, in one buffer.
type responseEncoder struct {
	Events
	buffer  []byte
	next    int  // index of the next event
	encoded bool // event is the next event
	event   encodedEvent
}

// encodedEvent is an event with its encoded object.
type encodedEvent struct {
	kind    kubeconnectv1.EventType
	object  []byte // nil if it has none
	version string
	patch   kubeconnectv1.PatchFormat
	index   int // see Place
}

func (e Events) begin() *responseEncoder {
	return &responseEncoder{Events: e, buffer: make([]byte, 0, capacity(e.objects, MaxEventsBytes))}
}

func (r *responseEncoder) done() bool { return r.next == len(r.Batch.Events) }

// encode encodes the next event.
func (r *responseEncoder) encode() {
	if r.encoded {
		return
	}
	event := r.Batch.Events[r.next]
	r.encoded, r.event = true, encodedEvent{kind: eventTypes[event.Type], version: event.ResourceVersion}
	if len(r.Places) > 0 {
		r.event.index = r.Places[r.next].Index
	}
	if len(r.Places) > 0 && r.Places[r.next].Moved {
		r.event.kind, r.event.object = kubeconnectv1.EventType_EVENT_TYPE_MOVED, headObject(event.Object)
		return
	}
	r.event.object, r.event.patch = r.Events.object(event)
	if len(r.Places) > 0 && len(r.Places[r.next].Joined) > 0 {
		r.event.object = slices.Concat(r.event.object, []byte(r.Places[r.next].Joined))
	}
}

// response returns the next response, which is valid until the following call.
func (r *responseEncoder) response() Response {
	if r.buffer = r.buffer[:0]; cap(r.buffer) > 2*MaxEventsBytes {
		r.buffer = nil // it contained a large object
	}
	first := r.next
	for ; !r.done(); r.next++ {
		r.encode()
		if size := r.event.size(); len(r.buffer) > 0 && len(r.buffer)+size > MaxEventsBytes {
			break
		}
		r.buffer, r.encoded = r.event.append(r.buffer), false
	}
	last := r.next - 1
	return Response{r.buffer, r.tokenAfter(last), last, r.next - first}
}

// object returns the encoded object of an event, or the patch from the object before it.
func (e Events) object(event informerhub.Event) (encoded []byte, patch kubeconnectv1.PatchFormat) {
	if event.Object == nil {
		return nil, WholeObject
	}
	if e.Patches != WholeObject {
		if encoded := encodedPatch(event, e.Encoding, e.Patches); encoded != nil {
			return encoded, e.Patches
		}
	}
	return Bytes(event.Object, e.Encoding), WholeObject
}

// objects yields the objects of the events, or nil for an event that has none or that is sent as a
// patch.
func (e Events) objects(yield func(*informerhub.Object) bool) {
	for _, event := range e.Batch.Events {
		object := event.Object
		if e.Patches != WholeObject && event.Before != nil {
			object = nil
		}
		if !yield(object) {
			return
		}
	}
}

// tokenAfter returns the token to resume with after an event, or an empty string if there is none.
func (e Events) tokenAfter(last int) string {
	position, ok := e.Batch.PositionAfter(last)
	if !ok {
		return ""
	}
	return e.Tokens.Write(position)
}

// append appends the event to a response.
func (e *encodedEvent) append(dst []byte) []byte {
	dst = protowire.AppendTag(dst, watchResponseEvents, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(e.size()))
	dst = appendNumber(dst, eventType, uint64(e.kind))
	if e.object != nil {
		dst = AppendField(dst, eventObject, e.object)
	}
	dst = protowire.AppendTag(dst, eventVersion, protowire.BytesType)
	dst = protowire.AppendString(dst, e.version)
	dst = appendNumber(dst, eventPatch, uint64(e.patch))
	return appendNumber(dst, eventIndex, uint64(e.index))
}

func (e *encodedEvent) size() int {
	size := sizeOfNumber(eventType, uint64(e.kind)) + sizeOfNumber(eventPatch, uint64(e.patch)) + sizeOfNumber(eventIndex, uint64(e.index)) +
		protowire.SizeTag(eventVersion) + protowire.SizeBytes(len(e.version))
	if e.object != nil {
		size += protowire.SizeTag(eventObject) + protowire.SizeBytes(len(e.object))
	}
	return size
}

// appendNumber appends a field with a number, unless it is 0, which is the default.
func appendNumber(dst []byte, field protowire.Number, number uint64) []byte {
	if number == 0 {
		return dst
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), number)
}

// sizeOfNumber returns the number of bytes that appendNumber appends.
func sizeOfNumber(field protowire.Number, number uint64) int {
	if number == 0 {
		return 0
	}
	return protowire.SizeTag(field) + protowire.SizeVarint(number)
}

// eventTypes are the types of events, as the proto has them.
var eventTypes = map[informerhub.EventType]kubeconnectv1.EventType{
	informerhub.Added:    kubeconnectv1.EventType_EVENT_TYPE_ADDED,
	informerhub.Modified: kubeconnectv1.EventType_EVENT_TYPE_MODIFIED,
	informerhub.Deleted:  kubeconnectv1.EventType_EVENT_TYPE_DELETED,
	informerhub.Reset:    kubeconnectv1.EventType_EVENT_TYPE_RESET,
	informerhub.Synced:   kubeconnectv1.EventType_EVENT_TYPE_SYNCED,
	informerhub.Bookmark: kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK,
}
