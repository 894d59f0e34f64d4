package server

import (
	"container/list"
	"sync"
	"time"
)

const (
	// pageLifetime is how long a list can be continued after its last page.
	pageLifetime = 5 * time.Minute
	// maxPagedLists bounds the lists that can be continued, and one caller may have a quarter of
	// them: the pods of a DaemonSet, which are one caller, may all list at once.
	maxPagedLists  = 256
	pagedListsPart = 4
)

// ownBytesShare is the memory that lists may take together which no cache holds.
var ownBytesShare = share{part: 8, least: 32 << 20, most: 256 << 20, unlimited: 256 << 20}

// keptLists are the lists that can be continued. Where there are too many, or they hold too many
// bytes, the least recently used one of the caller that has most of them is removed. Its methods are safe for concurrent use.
type keptLists struct {
	perCaller   int // lists
	maxOwnBytes int

	mu       sync.Mutex // guards the fields below
	byID     map[string]*list.Element
	used     *list.List // of keptList: the one that has not been used for longest first
	byOwner  map[string]holding
	ownBytes int
	sweeping *time.Timer // runs while there are lists
}

// holding is what the lists of one caller take.
type holding struct{ lists, ownBytes int }

type keptList struct {
	*pagedList
	until time.Time
}

func newKeptLists(limits Limits) *keptLists {
	return &keptLists{
		perCaller: int(limits.of(maxPagedLists, pagedListsPart)), maxOwnBytes: int(ownBytesShare.bytes()),
		byID: make(map[string]*list.Element), used: list.New(), byOwner: make(map[string]holding),
	}
}

// keep keeps a list for a lifetime from now.
func (k *keptLists) keep(paged *pagedList) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.removeLocked(k.byID[paged.id])
	k.byID[paged.id] = k.used.PushBack(keptList{paged, time.Now().Add(pageLifetime)})
	k.countLocked(paged, 1)
	k.evictLocked(paged.owner)
	if k.sweeping == nil {
		k.sweeping = time.AfterFunc(pageLifetime, k.sweep)
	}
}

// evictLocked removes lists until there is room for those that are kept, of which the last is
// an owner's.
func (k *keptLists) evictLocked(owner string) {
	if k.byOwner[owner].lists > k.perCaller {
		k.removeOldestLocked(func(list *pagedList) bool { return list.owner == owner })
	}
	if k.used.Len() > maxPagedLists {
		owner := k.largestLocked(func(h holding) int { return h.lists })
		k.removeOldestLocked(func(list *pagedList) bool { return list.owner == owner })
	}
	for k.ownBytes > k.maxOwnBytes {
		owner := k.largestLocked(func(h holding) int { return h.ownBytes })
		k.removeOldestLocked(func(list *pagedList) bool { return list.owner == owner && list.ownBytes > 0 })
	}
}

// largestLocked returns the owner with the largest size of what its lists take.
func (k *keptLists) largestLocked(size func(holding) int) (largest string) {
	most := -1
	for owner, holding := range k.byOwner {
		if of := size(holding); of > most {
			largest, most = owner, of
		}
	}
	return largest
}

// removeOldestLocked removes the list that has not been used for longest of those that fit.
func (k *keptLists) removeOldestLocked(fits func(*pagedList) bool) {
	for at := k.used.Front(); at != nil; at = at.Next() {
		if fits(at.Value.(keptList).pagedList) {
			k.removeLocked(at)
			return
		}
	}
}

// countLocked counts a list to its owner, or no longer if times is -1.
func (k *keptLists) countLocked(paged *pagedList, times int) {
	bytes := times * paged.ownBytes
	now := holding{k.byOwner[paged.owner].lists + times, k.byOwner[paged.owner].ownBytes + bytes}
	k.ownBytes += bytes
	if k.byOwner[paged.owner] = now; now.lists == 0 {
		delete(k.byOwner, paged.owner)
	}
}

// find answers a list that is kept; nil if there is none.
func (k *keptLists) find(id string) *pagedList {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.expireLocked()
	if at := k.byID[id]; at != nil {
		return at.Value.(keptList).pagedList
	}
	return nil
}

// sweep lets go of what has expired, also when nobody asks.
func (k *keptLists) sweep() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.expireLocked()
	k.sweeping = nil
	if first := k.used.Front(); first != nil {
		k.sweeping = time.AfterFunc(time.Until(first.Value.(keptList).until), k.sweep)
	}
}

func (k *keptLists) expireLocked() {
	for first := k.used.Front(); first != nil && !first.Value.(keptList).until.After(time.Now()); first = k.used.Front() {
		k.removeLocked(first)
	}
}

func (k *keptLists) removeLocked(at *list.Element) {
	if at == nil {
		return
	}
	removed := k.used.Remove(at).(keptList)
	delete(k.byID, removed.id)
	k.countLocked(removed.pagedList, -1)
}
