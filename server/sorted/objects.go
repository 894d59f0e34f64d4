package sorted

import (
	"slices"
	"sort"
	"strings"

	"github.com/tidwall/btree"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/scalar"
)

// Entry is an object and its place in an order. It stays comparable when the object has changed or
// has been deleted.
type Entry struct {
	Object *informerhub.Object
	keys   []scalar.Value
}

// Objects are the objects of a selection, sorted.
type Objects struct {
	order  Order
	reader *KeyReader
	tree   *btree.BTreeG[Entry]
	byName map[string]Entry // by informerhub.Object.Key
	bytes  int
}

// NewObjects returns an empty set in an order.
func NewObjects(order Order) (*Objects, error) {
	reader, err := order.KeyReader()
	if err != nil {
		return nil, err
	}
	o := &Objects{order: order, reader: reader, byName: make(map[string]Entry)}
	o.tree = btree.NewBTreeGOptions(func(a, b Entry) bool { return o.compare(a, b) < 0 }, btree.Options{NoLocks: true})
	return o, nil
}

// compare is a total order of the entries.
func (o *Objects) compare(a, b Entry) int {
	if order := o.order.Compare(a.keys, b.keys); order != 0 {
		return order
	}
	return a.Object.Compare(b.Object.Namespace(), b.Object.Name())
}

// Change implements follow.State. It returns a BadRequest error if a value that the objects are
// sorted by is an object or a list.
func (o *Objects) Change(before, after *informerhub.Object, _ uint64) error {
	if before != nil {
		o.remove(before.Key())
	}
	if after == nil {
		return nil
	}
	entry := Entry{after, make([]scalar.Value, o.order.Paths())}
	if err := o.reader.Read(after, entry.keys); err != nil {
		return err
	}
	key := strings.Clone(after.Key()) // the strings of an object retain its bytes
	o.tree.Set(entry)
	o.byName[key] = entry
	o.bytes += entryBytes(key, entry)
	return nil
}

func (o *Objects) remove(key string) {
	if entry, ok := o.byName[key]; ok {
		o.tree.Delete(entry)
		delete(o.byName, key)
		o.bytes -= entryBytes(key, entry)
	}
}

// Bytes implements follow.State. The objects themselves belong to the cache.
func (o *Objects) Bytes() int { return o.bytes + o.reader.Bytes() }

// entryBytes estimates the memory of an entry, in the tree and in the map.
func entryBytes(key string, entry Entry) int {
	size := 200 + scalar.TextBytes(key)
	for _, value := range entry.keys {
		size += value.Bytes()
	}
	return size
}

// Len returns the number of objects.
func (o *Objects) Len() int { return o.tree.Len() }

// Find returns the entry of an object; false if there is none.
func (o *Objects) Find(namespace, name string) (Entry, bool) {
	if namespace != "" {
		name = namespace + "/" + name
	}
	entry, ok := o.byName[name]
	return entry, ok
}

// IndexOf returns the number of objects before an entry. The entry need not be in the set.
func (o *Objects) IndexOf(entry Entry) int {
	return sort.Search(o.tree.Len(), func(i int) bool {
		at, _ := o.tree.GetAt(i)
		return o.compare(at, entry) >= 0
	})
}

// Contains reports whether the set has an object in the place of an entry.
func (o *Objects) Contains(entry Entry) bool {
	_, ok := o.tree.Get(entry)
	return ok
}

// Range returns the objects from an index, at most limit.
func (o *Objects) Range(from, limit int) []*informerhub.Object {
	if from >= o.tree.Len() || limit <= 0 {
		return nil
	}
	objects := make([]*informerhub.Object, 0, min(limit, o.tree.Len()-from))
	first, _ := o.tree.GetAt(from)
	o.tree.Ascend(first, func(entry Entry) bool {
		objects = append(objects, entry.Object)
		return len(objects) < limit
	})
	return slices.Clip(objects)
}
