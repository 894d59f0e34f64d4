package server

import (
	"container/list"
	"sync"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// keptLifetime is how long a list is kept after its last page.
const keptLifetime = 30 * time.Second

// ownBytesShare is the memory that lists may take together which no cache holds.
var ownBytesShare = share{part: 8, least: 32 << 20, most: 256 << 20, unlimited: 256 << 20}

// keptLists are lists that take long to make: sorted ones, and those that were read at the API
// server. Their next pages are taken from them. It costs no more than time where one is not kept. A caller
// who lists more than it may keep loses its oldest lists. Its methods are safe for concurrent use.
type keptLists struct {
	memory *fairqueue.Queue // bytes, by caller

	mu       sync.Mutex // guards the fields below; taken before that of memory
	byKey    map[string]*list.Element
	used     *list.List  // of *keptList: the one that has not been used for longest first
	sweeping *time.Timer // runs while there are lists
}

// keptList is a whole list in its order. It is immutable but for until.
type keptList struct {
	selected
	key, owner string
	until      time.Time // guarded by the lock of keptLists
	release    func()    // of its memory
}

func newKeptLists() *keptLists {
	return &keptLists{
		memory: fairqueue.New(fairqueue.Limits{Total: ownBytesShare.bytes()}),
		byKey:  make(map[string]*list.Element), used: list.New(),
	}
}

const (
	pointerBytes = 8
	// listBytes is counted for each list at least, and so bounds how many there are.
	listBytes = 64 << 10
)

// ownBytesOf is the size of what no cache holds: the pointers to objects, and the objects where
// they are the API server's answer.
func ownBytesOf(list selected) (size int64) {
	size = listBytes + int64(pointerBytes*len(list.snapshot.Objects))
	if !list.own {
		return size
	}
	for _, object := range list.snapshot.Objects {
		size += int64(object.Size())
	}
	return size
}

// keep keeps a list, if there is memory for it.
func (k *keptLists) keep(key, owner string, found selected) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.useLocked(key) != nil {
		return
	}
	release, ok := k.acquireLocked(owner, ownBytesOf(found))
	if !ok {
		return
	}
	kept := &keptList{selected: found, key: key, owner: owner, until: time.Now().Add(keptLifetime), release: release}
	k.byKey[key] = k.used.PushBack(kept)
	if k.sweeping == nil {
		k.sweeping = time.AfterFunc(keptLifetime, k.sweep)
	}
}

// acquireLocked acquires memory for a list of an owner, for which older ones of the owner make room.
func (k *keptLists) acquireLocked(owner string, bytes int64) (release func(), ok bool) {
	for {
		if release, ok = k.memory.TryShare(owner, bytes); ok || !k.removeOldestLocked(owner) {
			return release, ok
		}
	}
}

// removeOldestLocked removes the list of an owner that has not been used for longest, and
// reports whether there was one.
func (k *keptLists) removeOldestLocked(owner string) bool {
	for at := k.used.Front(); at != nil; at = at.Next() {
		if at.Value.(*keptList).owner == owner {
			k.removeLocked(at)
			return true
		}
	}
	return false
}

// find returns a list that is kept, and keeps it for longer.
func (k *keptLists) find(key string) (found selected, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if kept := k.useLocked(key); kept != nil {
		return kept.selected, true
	}
	return selected{}, false
}

func (k *keptLists) useLocked(key string) *keptList {
	at := k.byKey[key]
	if at == nil {
		return nil
	}
	kept := at.Value.(*keptList)
	kept.until = time.Now().Add(keptLifetime)
	k.used.MoveToBack(at)
	return kept
}

// sweep removes what has not been used for a lifetime.
func (k *keptLists) sweep() {
	k.mu.Lock()
	defer k.mu.Unlock()
	first := k.used.Front()
	for ; first != nil && !first.Value.(*keptList).until.After(time.Now()); first = k.used.Front() {
		k.removeLocked(first)
	}
	k.sweeping = nil
	if first != nil {
		k.sweeping = time.AfterFunc(time.Until(first.Value.(*keptList).until), k.sweep)
	}
}

func (k *keptLists) removeLocked(at *list.Element) {
	removed := k.used.Remove(at).(*keptList)
	delete(k.byKey, removed.key)
	removed.release()
}
