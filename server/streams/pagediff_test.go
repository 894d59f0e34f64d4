package streams

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

// drawnPage returns a page with random objects of a few, each in one of two states.
func drawnPage(draw *rapid.T, label string) []heldObject {
	ids := rapid.SliceOfNDistinct(rapid.ByteRange(0, 14), 0, 12, rapid.ID).Draw(draw, label)
	page := make([]heldObject, len(ids))
	for i, id := range ids {
		page[i] = heldObject{id: objectID{id}, version: versionHash{rapid.ByteRange(0, 1).Draw(draw, "version")}}
	}
	return page
}

func sameVersion(held, next heldObject) bool { return held.version == next.version }

// applyChange changes a page as a client does.
func applyChange(t *rapid.T, page []heldObject, change pageChange) []heldObject {
	held := slices.IndexFunc(page, change.from.isSame)
	if change.kind != informerhub.Added {
		if held < 0 || page[held] != change.from {
			t.Fatalf("%+v changes an object that the client does not have in that state", change)
		}
		if change.kind == informerhub.Deleted && held != change.place.Index {
			t.Fatalf("%+v deletes the object at %d", change, held)
		}
		page = slices.Delete(page, held, held+1)
	}
	if change.kind == informerhub.Deleted {
		return page
	}
	if change.place.Moved && change.from.version != change.to.version {
		t.Fatalf("%+v moves an object that has changed", change)
	}
	return slices.Insert(page, change.place.Index, change.to)
}

func TestPageDifference_LeadsToTheNextPage(t *testing.T) {
	rapid.Check(t, func(draw *rapid.T) {
		held, next := drawnPage(draw, "held"), drawnPage(draw, "next")
		most := max(len(held), len(next))
		page, deletions := slices.Clone(held), true
		changes := pageDifference(held, next, sameVersion)
		for _, change := range changes {
			if change.kind == informerhub.Deleted && !deletions {
				draw.Fatalf("a deletion follows other changes: %+v", changes)
			}
			deletions = change.kind == informerhub.Deleted
			if page = applyChange(draw, page, change); len(page) > most {
				draw.Fatalf("the client has %d objects", len(page))
			}
		}
		if got := applied(held, changes); !slices.Equal(got, page) {
			draw.Fatalf("%+v is applied as %v, want %v", changes, got, page)
		}
		if !slices.Equal(page, next) {
			draw.Fatalf("%v changes to %v, want %v: %+v", held, page, next, changes)
		}
	})
}

func TestPageDifference_MovesAsFewObjectsAsPossible(t *testing.T) {
	page := func(ids ...byte) (page []heldObject) {
		for _, id := range ids {
			page = append(page, heldObject{id: objectID{id}})
		}
		return page
	}
	for name, test := range map[string]struct {
		held, next []heldObject
		want       int
	}{
		"nothing changes":              {page(1, 2, 3), page(1, 2, 3), 0},
		"the first becomes the last":   {page(1, 2, 3, 4, 5), page(2, 3, 4, 5, 1), 1},
		"the last becomes the first":   {page(1, 2, 3, 4, 5), page(5, 1, 2, 3, 4), 1},
		"one enters and one leaves":    {page(1, 2, 3), page(0, 1, 2), 2},
		"two are exchanged":            {page(1, 2, 3, 4), page(1, 3, 2, 4), 1},
		"the page is scrolled by half": {page(1, 2, 3, 4), page(3, 4, 5, 6), 4},
		"the order is reversed":        {page(1, 2, 3, 4), page(4, 3, 2, 1), 3},
	} {
		if changes := pageDifference(test.held, test.next, sameVersion); len(changes) != test.want {
			t.Errorf("%s: %d changes, want %d: %+v", name, len(changes), test.want, changes)
		}
	}
}
