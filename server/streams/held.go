package streams

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"sort"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// objectID and versionHash identify an object and its state in a resume token. Two objects of a page
// have the same identity with a probability of less than 1 to 10⁹, and two states of an object have
// the same hash with 1 to 4·10⁹.
type (
	objectID    [6]byte
	versionHash [4]byte
)

// heldObject is an object of a page as the client has it. It is a value: a page is a slice of them, which is replaced when the
// page changes.
//
// An object that the client has from a stream that it resumed is known only by the two hashes of the resume token. It can be
// recognized and compared, and it cannot be sent again.
type heldObject struct {
	id      objectID
	version versionHash         // of the state that was sent last: the resource version, and the results of joins
	object  *informerhub.Object // nil if the client has it from a stream that it resumed
	joined  joinedResult        // without a message once it was sent: the hash is enough to compare
}

// pageChange is one step from a page to the next page.
type pageChange struct {
	kind  informerhub.EventType // Added, Modified or Deleted
	place encode.Place          // in the page after the steps before this step
	from  heldObject            // the client's state; without an object for Added
	to    heldObject            // the next state; without an object for Deleted
}

// pageDifference returns the changes that lead from a page to the next page: deletions first, and
// then, in the order of the next page, the objects that are added, moved or modified. Each place is
// the place after the changes before it. As few objects as possible are moved. same reports whether
// two states of an object are the same for the client.
//
// A client applies the changes one after the other: it removes the object from its place, or from the
// place where it has the object, and inserts the object at the place of the change. A prefix of the
// changes therefore also leads to a page, which applied returns.
//
// The time is quadratic in the number of objects, which is at most maxInPage.
func pageDifference(held, next []heldObject, same func(held, next heldObject) bool) []pageChange {
	// Deletions come first, so that the objects that are left are exactly the objects of both pages.
	wanted := make(map[objectID]int, len(next)) // places by object
	for i, object := range next {
		wanted[object.id] = i
	}
	changes, left := removed(held, wanted)
	known := make(map[objectID]heldObject, len(left))
	for _, object := range left {
		known[object.id] = object
	}
	// left is changed step by step, as the client changes its page. Before at, it has the objects of the next page.
	stays := unmoved(left, wanted)
	at := 0 // place of the next object in left
	for _, object := range next {
		before, isHeld := known[object.id]
		change := pageChange{kind: informerhub.Modified, from: before, to: object}
		switch {
		case !isHeld:
			change.kind = informerhub.Added
			left = slices.Insert(left, at, object)
		case stays[object.id]:
			// Objects between at and the object are moved later, to places behind it.
			at += slices.IndexFunc(left[at:], object.isSame)
		default:
			// The object is moved. It may have been passed already: then at moves back with the objects behind it.
			from := slices.IndexFunc(left, object.isSame)
			left = slices.Delete(left, from, from+1)
			if from < at {
				at--
			}
			left = slices.Insert(left, at, object)
			change.place.Moved = same(before, object)
		}
		change.place.Index = at
		if !stays[object.id] || !same(before, object) {
			changes = append(changes, change)
		}
		at++
	}
	return changes
}

// applied returns a page after some changes. An object that only moves remains as the client has it: the event of a
// move has no content, so the client keeps the state that it has, with the hash of that state.
func applied(held []heldObject, changes []pageChange) []heldObject {
	page := slices.Clone(held)
	for _, change := range changes {
		if change.kind == informerhub.Deleted {
			page = slices.Delete(page, change.place.Index, change.place.Index+1)
			continue
		}
		object := change.to
		object.joined.message = ""
		if change.kind == informerhub.Modified {
			at := slices.IndexFunc(page, object.isSame)
			page = slices.Delete(page, at, at+1)
		}
		if change.place.Moved {
			object = change.from
		}
		page = slices.Insert(page, change.place.Index, object)
	}
	return page
}

// isSame reports whether other is the same object, possibly in another state.
func (h heldObject) isSame(other heldObject) bool { return h.id == other.id }

// removed returns the deletions of the objects that are not wanted, and the objects that are left. The
// last object is deleted first, so that no deletion changes the place of a following deletion.
func removed(held []heldObject, wanted map[objectID]int) (changes []pageChange, left []heldObject) {
	for i, object := range slices.Backward(held) {
		if _, ok := wanted[object.id]; !ok {
			changes = append(changes, pageChange{kind: informerhub.Deleted, place: encode.Place{Index: i}, from: object})
		}
	}
	for _, object := range held {
		if _, ok := wanted[object.id]; ok {
			left = append(left, object)
		}
	}
	return changes, left
}

// unmoved returns the largest set of objects that are in the same order in a page and in the next
// page: a longest increasing subsequence of their next places. All other objects must be moved, so
// the largest set needs the fewest events.
func unmoved(left []heldObject, wanted map[objectID]int) map[objectID]bool {
	var ends []int // index of the last object of the best subsequence of each length
	previous := make([]int, len(left))
	for i, object := range left {
		length := sort.Search(len(ends), func(l int) bool { return wanted[left[ends[l]].id] >= wanted[object.id] })
		if previous[i] = -1; length > 0 {
			previous[i] = ends[length-1]
		}
		if length == len(ends) {
			ends = append(ends, i)
		}
		ends[length] = i
	}
	// The subsequence is read from its last object backwards.
	stays := make(map[objectID]bool, len(ends))
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = previous[i] {
			stays[left[i].id] = true
		}
	}
	return stays
}

// heldObjectBytes is the size of a held object in a token.
const heldObjectBytes = len(objectID{}) + len(versionHash{})

// heldOf returns an object as a client has it, with the results of its joins. Its version depends on the object and on its
// joins alone, because the token of one replica is compared with the objects of another replica.
func heldOf(object *informerhub.Object, joined joinedResult) heldObject {
	held := heldObject{id: idOf(object), object: object, joined: joined}
	version := sha256.Sum256(append([]byte(object.ResourceVersion()), joined.hash...))
	copy(held.version[:], version[:])
	return held
}

// idOf returns the identity of an object. It depends on the UID, so that an object that is deleted and created again is
// another object.
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

// parseHeld parses what appendHeld has appended. The bytes are from a client, and may have been made up: the number of
// objects is bounded, and an identity that no object has leads only to an event that deletes it.
func parseHeld(page []byte) (offset int, held []heldObject, err error) {
	number, n := binary.Uvarint(page)
	if n <= 0 || number > math.MaxInt32 || len(page[n:])%heldObjectBytes != 0 || len(page[n:]) > maxInPage*heldObjectBytes {
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
