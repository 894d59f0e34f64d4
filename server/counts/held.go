package counts

import (
	"hash/maphash"
	"unsafe"

	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// Held is what one reader has of the groups of a state: eight bytes for each, so that 10,000 groups
// need 80 KiB. The zero value is a reader without groups. It is owned by one goroutine. The reader is
// charged for [Difference.HeldBytes] before it takes the groups of a difference.
//
// A state knows which groups have changed since a reader read them last. Several changes can lead
// back to what the reader has: an object that is moved and moved back, or one that was created and
// deleted.
type Held struct {
	digests []uint64 // by the group's slot; 0 for a group that the reader does not have
}

// Take records that the reader receives a group, which encoded is the message of, and reports whether
// that changes what the reader has.
func (h *Held) Take(g Group, encoded *kubeconnectv1.ObjectGroup) bool {
	if g.slot >= len(h.digests) {
		if g.count == 0 {
			return false
		}
		longer := make([]uint64, slotsFor(g.slot+1))
		copy(longer, h.digests)
		h.digests = longer
	}
	before := h.digests[g.slot]
	h.digests[g.slot] = digestOf(g, encoded)
	return h.digests[g.slot] != before
}

// slotsAtOnce is the number of slots by which the digests of a reader grow.
const slotsAtOnce = 512

// slotsFor returns the number of digests of a reader of a state with some slots.
func slotsFor(slots int) int { return (slots + slotsAtOnce - 1) / slotsAtOnce * slotsAtOnce }

// HeldBytes returns the memory that a reader needs for a [Held] that has the groups of the difference.
func (d Difference) HeldBytes() int { return slotsFor(d.slots) * int(unsafe.Sizeof(uint64(0))) }

// seed makes digests unpredictable for callers, who choose what is counted.
var seed = maphash.MakeSeed()

// digestOf returns a digest of the numbers of a group; 0 for a group without objects. Without
// aggregates it is the count.
func digestOf(g Group, encoded *kubeconnectv1.ObjectGroup) uint64 {
	if len(g.columns) == 0 {
		return uint64(g.count)
	}
	var hash maphash.Hash
	hash.SetSeed(seed)
	maphash.WriteComparable(&hash, g.count)
	for _, aggregate := range encoded.GetAggregates() {
		text, _ := proto.MarshalOptions{Deterministic: true}.Marshal(aggregate)
		maphash.WriteComparable(&hash, string(text))
	}
	return max(hash.Sum64(), 1)
}
