package streams

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/sorted"
)

// mostInPage bounds WatchRequest.limit.
const mostInPage = 500

// pageParams are the parsed fields of a request for a page that stays live.
type pageParams struct {
	order  sorted.Order
	limit  int
	offset int
	after  *informerhub.ObjectName // the object before the page; nil if offset counts
}

// parsePage parses the fields of a page; nil if the request has none.
func parsePage(request *kubeconnectv1.WatchRequest) (*pageParams, error) {
	limit, offset, after := request.GetLimit(), request.GetOffset(), request.GetAfter()
	switch {
	case limit < 0 || limit > mostInPage:
		return nil, apierror.BadRequest("invalid limit %d: give 1 to %d", limit, mostInPage)
	case limit == 0 && (request.GetOrderBy() != "" || offset != 0 || after != nil):
		return nil, apierror.BadRequest("order_by, offset and after need a limit: a watch of all objects has no order")
	case limit == 0:
		return nil, nil
	case offset < 0 || offset > math.MaxInt32:
		return nil, apierror.BadRequest("invalid offset %d: give 0 to %d", offset, math.MaxInt32)
	case after != nil && offset != 0:
		return nil, apierror.BadRequest("offset and after are both set: give one of them")
	case after != nil && after.GetName() == "":
		return nil, apierror.BadRequest("after.name is required")
	}
	order, err := sorted.Parse(request.GetOrderBy())
	if err != nil {
		return nil, err
	}
	params := &pageParams{order: order, limit: int(limit), offset: int(offset)}
	if after != nil {
		params.after = &informerhub.ObjectName{Namespace: after.GetNamespace(), Name: after.GetName()}
	}
	_, err = sorted.NewObjects(order)
	return params, err
}

// objectID and versionHash identify an object and its state in a resume token. Two objects of a page
// have the same identity with a probability of less than 1 to 10⁹, and two states of an object have
// the same hash with 1 to 4·10⁹.
type (
	objectID    [6]byte
	versionHash [4]byte
)

// heldObjectBytes is the size of a held object in a token.
const heldObjectBytes = len(objectID{}) + len(versionHash{})

// heldOf returns an object as a client has it, with the results of its joins.
func heldOf(object *informerhub.Object, joined joinedResult) heldObject {
	held := heldObject{id: idOf(object), object: object, joined: joined}
	version := sha256.Sum256(append([]byte(object.ResourceVersion()), joined.hash...))
	copy(held.version[:], version[:])
	return held
}

func idOf(object *informerhub.Object) (id objectID) {
	sum := sha256.Sum256([]byte(object.Key() + "\x00" + object.UID()))
	copy(id[:], sum[:])
	return id
}

// appendHeld appends the objects of a page that begins at an offset to a token.
func appendHeld(dst []byte, offset int, held []heldObject) []byte {
	dst = binary.AppendUvarint(dst, uint64(offset))
	for _, object := range held {
		dst = append(append(dst, object.id[:]...), object.version[:]...)
	}
	return dst
}

// parseHeld parses what appendHeld has appended.
func parseHeld(page []byte) (offset int, held []heldObject, err error) {
	number, n := binary.Uvarint(page)
	if n <= 0 || number > math.MaxInt32 || len(page[n:])%heldObjectBytes != 0 || len(page[n:]) > mostInPage*heldObjectBytes {
		return 0, nil, apierror.BadRequest("invalid resume_token: watch without it")
	}
	for page = page[n:]; len(page) > 0; page = page[heldObjectBytes:] {
		var object heldObject
		copy(object.id[:], page)
		copy(object.version[:], page[len(object.id):])
		held = append(held, object)
	}
	return int(number), held, nil
}
