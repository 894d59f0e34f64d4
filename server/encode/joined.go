package encode

import (
	"google.golang.org/protobuf/encoding/protowire"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// The numbers of the fields of results of joins.
var (
	objectJoined       = FieldNumber(&kubeconnectv1.Object{}, "joined")
	joinedName         = FieldNumber(&kubeconnectv1.JoinedObjects{}, "name")
	joinedCount        = FieldNumber(&kubeconnectv1.JoinedObjects{}, "count")
	joinedObjects      = FieldNumber(&kubeconnectv1.JoinedObjects{}, "objects")
	joinedNotPermitted = FieldNumber(&kubeconnectv1.JoinedObjects{}, "not_permitted")
)

// Joined is the result of a join for one object.
type Joined struct {
	Name         string
	Count        int
	Objects      [][]byte // the messages of the related objects; see ObjectUnder
	NotPermitted bool
}

// AppendJoined appends the result of a join to the fields of an object's message.
func AppendJoined(dst []byte, result Joined) []byte {
	dst = protowire.AppendTag(dst, objectJoined, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(result.size()))
	dst = AppendField(dst, joinedName, []byte(result.Name))
	if result.Count > 0 {
		dst = protowire.AppendVarint(protowire.AppendTag(dst, joinedCount, protowire.VarintType), uint64(result.Count))
	}
	for _, object := range result.Objects {
		dst = AppendField(dst, joinedObjects, object)
	}
	if result.NotPermitted {
		dst = protowire.AppendVarint(protowire.AppendTag(dst, joinedNotPermitted, protowire.VarintType), 1)
	}
	return dst
}

func (j Joined) size() int {
	size := protowire.SizeTag(joinedName) + protowire.SizeBytes(len(j.Name))
	if j.Count > 0 {
		size += protowire.SizeTag(joinedCount) + protowire.SizeVarint(uint64(j.Count))
	}
	for _, object := range j.Objects {
		size += protowire.SizeTag(joinedObjects) + protowire.SizeBytes(len(object))
	}
	if j.NotPermitted {
		size += protowire.SizeTag(joinedNotPermitted) + 1
	}
	return size
}

// ObjectUnder returns the bytes of the message of an object with the fields of a view. If they
// cannot be sent, the message contains an error in their place.
func ObjectUnder(object *informerhub.Object, view View) []byte {
	if !object.HasContent() {
		return headObject(object)
	}
	s := scratches.Get().(*scratch)
	defer s.release()
	number, content, err := s.contentOf(object, view)
	if err != nil {
		return errorObject(object, err)
	}
	return contentObject(object, number, content)
}
