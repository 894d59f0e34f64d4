package server

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/auth"
)

// pages keeps the snapshots of lists that have more pages. Its methods are safe
// for concurrent use.
//
// A page token is a random number that nobody can guess, and an offset. It is of
// use only with the query that it was given out for, to the caller whom it was given
// to, as long as that may read the whole list.
type pages struct {
	lists *keptLists
}

// pagedList is a list of which pages are taken. It is immutable once it is kept.
type pagedList struct {
	selected
	id     string
	query  string
	caller auth.Key
	owner  string // the caller that the list is counted to; see callerOf
	// ownBytes is the size of what no cache holds: the pointers to objects, and the objects where they
	// are the API server's answer. It is known once the list is kept.
	ownBytes int
}

const pointerBytes = 8

func ownBytesOf(list selected) (size int) {
	size = pointerBytes * len(list.snapshot.Objects)
	if !list.own {
		return size
	}
	for _, object := range list.snapshot.Objects {
		size += object.Size()
	}
	return size
}

// sorted returns the list in an order. The list must not have been kept.
func (l *pagedList) sorted(ctx context.Context, by order) (*pagedList, error) {
	if len(by.paths) == 0 {
		return l, nil
	}
	objects, err := by.sort(ctx, l.snapshot.Objects)
	l.snapshot.Objects = objects
	return l, err
}

const idBytes = 16

func newPages(limits Limits) *pages {
	return &pages{lists: newKeptLists(limits)}
}

// keep keeps a list, or keeps it longer, and answers the token of the page that
// begins at offset.
func (p *pages) keep(list *pagedList, offset int) string {
	if list.id == "" {
		id := make([]byte, idBytes)
		_, _ = rand.Read(id) // never fails
		list.id, list.ownBytes = string(id), ownBytesOf(list.selected)
	}
	p.lists.keep(list)
	token := binary.AppendUvarint([]byte(list.id), uint64(offset))
	return base64.RawURLEncoding.EncodeToString(token)
}

var errPageExpired = apierrors.NewResourceExpired(
	"page_token has expired, or is another replica's or another caller's: list again from the first page")

// find answers the list that a token belongs to and the offset of its page.
func (p *pages) find(token, query string) (*pagedList, int, error) {
	decoded, ok := tokenBytes(token)
	if !ok || len(decoded) <= idBytes {
		return nil, 0, badRequest("page_token is not one that this service gives out: list from the first page")
	}
	offset, length := binary.Uvarint(decoded[idBytes:])
	if length != len(decoded)-idBytes {
		return nil, 0, badRequest("page_token is not one that this service gives out: list from the first page")
	}
	list := p.lists.find(string(decoded[:idBytes]))
	if list == nil {
		return nil, 0, errPageExpired
	}
	if list.query != query {
		return nil, 0, badRequest("page_token belongs to another query: only page_size may differ between the pages of a list")
	}
	if offset >= uint64(len(list.snapshot.Objects)) {
		return nil, 0, badRequest("page_token is not one that this service gives out: list from the first page")
	}
	return list, int(offset), nil
}
