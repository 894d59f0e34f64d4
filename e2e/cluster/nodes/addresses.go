package nodes

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"
)

// podRange is the range of the pods' addresses, which are assigned in order and not reused until
// all 8 million have been assigned.
var podRange = netip.MustParsePrefix("10.128.0.0/9")

// addresses assigns every pod an address of its own. The zero value is ready to use, and safe for
// concurrent use.
type addresses struct {
	last atomic.Uint32 // offset in podRange of the last assigned address
}

// next returns an unused address.
func (a *addresses) next() string {
	return addressAt(a.last.Add(1)).String()
}

// skip makes next continue after an address that an earlier run assigned.
func (a *addresses) skip(given string) {
	address, err := netip.ParseAddr(given)
	if err != nil || !podRange.Contains(address) {
		return
	}
	offset := offsetOf(address)
	for last := a.last.Load(); last < offset; last = a.last.Load() {
		a.last.CompareAndSwap(last, offset)
	}
}

func addressAt(offset uint32) netip.Addr {
	size := uint32(1) << (32 - podRange.Bits())
	var bytes [4]byte
	binary.BigEndian.PutUint32(bytes[:], numberOf(podRange.Addr())+offset%size)
	return netip.AddrFrom4(bytes)
}

func offsetOf(address netip.Addr) uint32 { return numberOf(address) - numberOf(podRange.Addr()) }

func numberOf(address netip.Addr) uint32 {
	bytes := address.As4()
	return binary.BigEndian.Uint32(bytes[:])
}
