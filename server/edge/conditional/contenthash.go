package conditional

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// contentHash hashes the content of a response, without what changes while the answer does not:
//
//   - the time of the last contact with the API server, unless the response is stale,
//   - the resource version of a list, a count or a table, which changes with objects that are not
//     selected. If there is a next page, the version is included, as is the token of that page: a
//     client that stores the response needs a token that has not expired.
//
// It needs memory for one object at a time.
type contentHash struct {
	hash.Hash
	buffer []byte
}

// contentOf returns the hash of a response in a scope.
func contentOf(scope string, response proto.Message) string {
	h := &contentHash{Hash: sha256.New()}
	h.add([]byte(scope))
	message := response.ProtoReflect()
	for fields, i := message.Descriptor().Fields(), 0; i < fields.Len(); i++ {
		if field := fields.Get(i); message.Has(field) && !isIncidental(response, field) {
			h.addField(message, field)
		}
	}
	h.add(message.GetUnknown()) // the objects of a page that is not decoded
	return encodeHash([sha256.Size]byte(h.Sum(nil)))
}

// isIncidental reports whether a field is the version of a response without a next page.
func isIncidental(response proto.Message, field protoreflect.FieldDescriptor) bool {
	paged, ok := response.(interface{ GetNextPageToken() string })
	return field.Name() == "resource_version" && !(ok && paged.GetNextPageToken() != "")
}

func (h *contentHash) addField(message protoreflect.Message, field protoreflect.FieldDescriptor) {
	value := message.Get(field)
	switch {
	case field.IsList() && field.Message() != nil:
		h.addNumber(int(field.Number()), value.List().Len())
		for i := range value.List().Len() {
			h.addMessage(value.List().Get(i).Message().Interface())
		}
	case !field.IsList() && !field.IsMap() && field.Message() != nil:
		h.addNumber(int(field.Number()), 1)
		h.addMessage(value.Message().Interface())
	default:
		only := message.New()
		only.Set(field, value)
		h.addMessage(only.Interface())
	}
}

func (h *contentHash) addMessage(message proto.Message) {
	switch part := message.(type) {
	case *kubeconnectv1.Freshness:
		message = lastingFreshness(part)
	case *kubeconnectv1.ResourceType:
		if fresh := part.GetCache().GetFreshness(); fresh != nil {
			copied := proto.CloneOf(part)
			copied.Cache.Freshness = lastingFreshness(fresh)
			message = copied
		}
	}
	// Messages of gen can always be encoded, except for invalid UTF-8, which connect rejects too.
	h.buffer, _ = proto.MarshalOptions{Deterministic: true}.MarshalAppend(h.buffer[:0], message)
	h.add(h.buffer)
}

// lastingFreshness returns the part of the freshness that does not change while the service follows
// the cluster.
func lastingFreshness(freshness *kubeconnectv1.Freshness) *kubeconnectv1.Freshness {
	if freshness.GetStale() {
		return freshness
	}
	return &kubeconnectv1.Freshness{}
}

// add adds a part, with its length so that the parts cannot be confused.
func (h *contentHash) add(part []byte) {
	h.addNumber(len(part))
	_, _ = h.Write(part)
}

func (h *contentHash) addNumber(numbers ...int) {
	var encoded [binary.MaxVarintLen64]byte
	for _, number := range numbers {
		_, _ = h.Write(encoded[:binary.PutUvarint(encoded[:], uint64(number))])
	}
}
