package validate

import (
	"slices"
	"sort"
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Write is one state of an object, as the API server answered it to whoever wrote it.
type Write struct {
	Key    Key
	UID    string
	Labels map[string]string
	// Fields are those that a field selector may name, beside the metadata's.
	Fields map[string]string
	// Content is the object in JSON, as it is told to callers; nil if that is not noted.
	Content map[string]any
	// Deleted says that the object was gone at Version. When exactly it went is not
	// known, for the API server does not tell: after the write before this one.
	Deleted bool
	Version string
}

// Writes are all the states that objects of one resource have had. It is safe for
// concurrent use.
type Writes struct {
	mu    sync.Mutex      // guards the fields below
	byKey map[Key][]Write // in the order of their versions
	known map[string]bool // the namespaces of which all is known
}

// NewWrites is for objects of some namespaces, of which every write will be added.
// Of other namespaces nothing is known, and nothing is judged.
func NewWrites(namespaces ...string) *Writes {
	w := &Writes{byKey: make(map[Key][]Write), known: make(map[string]bool)}
	for _, namespace := range namespaces {
		w.known[namespace] = true
	}
	return w
}

// Add adds writes. Those of one object must be added in the order of their versions,
// and all of them.
func (w *Writes) Add(writes ...Write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, write := range writes {
		w.byKey[write.Key] = append(w.byKey[write.Key], write)
	}
}

// Count is how many writes there are.
func (w *Writes) Count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	count := 0
	for _, writes := range w.byKey {
		count += len(writes)
	}
	return count
}

// Held is what the cluster held of a selection, in the end.
func (w *Writes) Held(selection Selection) map[Key]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := make(map[Key]string)
	for key, writes := range w.byKey {
		if last := writes[len(writes)-1]; selection.holds(last) {
			held[key] = last.Version
		}
	}
	return held
}

// Newest is the version of the newest write, deletions aside: a stream of this
// resource alone may not come to the version at which one was seen to be gone.
func (w *Writes) Newest() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	newest := ""
	for _, writes := range w.byKey {
		for _, write := range writes {
			if !write.Deleted && (newest == "" || isNewer(write.Version, newest)) {
				newest = write.Version
			}
		}
	}
	return newest
}

// Knows tells whether all writes to an object have been added.
func (w *Writes) Knows(key Key) bool { return w.known[key.Namespace] }

func (w *Writes) keys() []Key {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := make([]Key, 0, len(w.byKey))
	for key := range w.byKey {
		keys = append(keys, key)
	}
	return keys
}

// at is the state of an object at a version: nil if it was not there. going tells
// that it was deleted at about that time, so that it may also have been gone.
func (w *Writes) at(key Key, version string) (state *Write, going bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	writes := w.byKey[key]
	later := sort.Search(len(writes), func(i int) bool { return isNewer(writes[i].Version, version) })
	if later == 0 || writes[later-1].Deleted {
		return nil, false
	}
	return &writes[later-1], later < len(writes) && writes[later].Deleted
}

// before is the last write to an object before a version; nil if there is none.
func (w *Writes) before(key Key, version string) *Write {
	w.mu.Lock()
	defer w.mu.Unlock()
	writes := w.byKey[key]
	for i := range slices.Backward(writes) {
		if isNewer(version, writes[i].Version) {
			return &writes[i]
		}
	}
	return nil
}

// find is the write of a state; nil if there is none.
func (w *Writes) find(key Key, uid, version string) *Write {
	w.mu.Lock()
	defer w.mu.Unlock()
	writes := w.byKey[key]
	for i := range writes {
		if writes[i].Version == version && writes[i].UID == uid && !writes[i].Deleted {
			return &writes[i]
		}
	}
	return nil
}

// isNewer tells whether a version is newer than another. One that is none is not.
func isNewer(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order > 0
}
