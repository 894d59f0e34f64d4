package server

import (
	"container/list"
	"sync"
	"time"
)

const (
	// pageLifetime is how long a list can be continued after its last page.
	pageLifetime = 5 * time.Minute
	// maxPagedLists bounds the lists that can be continued; the one that has not
	// been used for longest goes first.
	maxPagedLists = 256
	// maxOwnBytes bounds what they hold together that no cache holds.
	maxOwnBytes = 256 << 20
)

// keptLists are the lists that can be continued. Its methods are safe for concurrent use.
type keptLists struct {
	mu       sync.Mutex // guards the fields below
	byID     map[string]*list.Element
	used     *list.List // of keptList: the one that has not been used for longest first
	ownBytes int
	sweeping *time.Timer // runs while there are lists
}

type keptList struct {
	*pagedList
	until time.Time
}

func newKeptLists() *keptLists {
	return &keptLists{byID: make(map[string]*list.Element), used: list.New()}
}

// keep keeps a list for a lifetime from now.
func (k *keptLists) keep(paged *pagedList) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.removeLocked(k.byID[paged.id])
	k.byID[paged.id] = k.used.PushBack(keptList{paged, time.Now().Add(pageLifetime)})
	k.ownBytes += paged.ownBytes
	for k.used.Len() > maxPagedLists || k.ownBytes > maxOwnBytes {
		k.removeLocked(k.used.Front())
	}
	if k.sweeping == nil {
		k.sweeping = time.AfterFunc(pageLifetime, k.sweep)
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
	k.ownBytes -= removed.ownBytes
}
