package validate

import (
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// Write is one state of an object, as the API server returned it to the writer.
type Write struct {
	Key    Key
	UID    string
	Labels map[string]string
	// Fields holds the fields that a field selector may name, in addition to those of the metadata.
	Fields map[string]string
	// Content is the object in JSON, as it is sent to clients; nil if it was not recorded.
	Content map[string]any
	// Deleted reports that the object did not exist at Version. Unless Exact is set, the version of
	// the deletion is unknown, because the API server does not return it to writers: it is newer than
	// the write before this one.
	Deleted bool
	// Exact reports that Version is the version of the deletion, as a watch of the API server
	// returned it.
	Exact bool
	// Expired reports that others may have been deleted at the same version, as etcd does with objects
	// that share a lease. Version can be the version of the deletion itself.
	Expired bool
	Version string
	// Acked is when the API server had acknowledged the write, or returned it to a read; zero if it
	// was not recorded.
	Acked time.Time
}

// Writes holds all states of the objects of one resource. It is safe for concurrent use.
type Writes struct {
	mu    sync.Mutex      // guards the fields below
	byKey map[Key][]Write // in the order of their versions
	known map[string]bool // the namespaces whose writes are all recorded; set once

	forgotten map[Key]bool // the objects that are not judged; guarded by mu
}

// NewWrites returns the writes for objects of some namespaces, of which every write must be added.
// Objects of other namespaces are not judged.
func NewWrites(namespaces ...string) *Writes {
	w := &Writes{byKey: make(map[Key][]Write), known: make(map[string]bool), forgotten: make(map[Key]bool)}
	for _, namespace := range namespaces {
		w.known[namespace] = true
	}
	return w
}

// Add adds writes. All writes to an object must be added, in the order of their versions.
func (w *Writes) Add(writes ...Write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, write := range writes {
		if write.Content != nil {
			write.Content, _ = normal(write.Content).(map[string]any)
		}
		w.byKey[write.Key] = append(w.byKey[write.Key], write)
	}
}

// Forget excludes an object from all checks, because not all its writes will be added.
func (w *Writes) Forget(key Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgotten[key] = true
}

// Count returns the number of writes.
func (w *Writes) Count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	count := 0
	for _, writes := range w.byKey {
		count += len(writes)
	}
	return count
}

// Held returns the versions of the objects that the selection contains after the last write.
func (w *Writes) Held(selection Selection) map[Key]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := make(map[Key]string)
	for key, writes := range w.byKey {
		if last := writes[len(writes)-1]; selection.holds(last) && !w.forgotten[key] {
			held[key] = last.Version
		}
	}
	return held
}

// Differences returns how objects differ from the selection's content after the last write, in the
// namespaces for which maySee is true; nil allows all namespaces. Objects that are not judged do
// not count.
func (w *Writes) Differences(selection Selection, objects map[Key]*kubeconnectv1.Object, allowed func(namespace string) bool) []string {
	var differences []string
	held := w.Held(selection)
	for key, version := range held {
		if _, ok := objects[key]; !ok && (allowed == nil || allowed(key.Namespace)) {
			differences = append(differences, fmt.Sprintf("%s is missing at version %s", key, version))
		}
	}
	for key, object := range objects {
		if !w.Knows(key) {
			continue
		}
		version, ok := held[key]
		switch {
		case !ok || allowed != nil && !allowed(key.Namespace):
			differences = append(differences, fmt.Sprintf("%s is present at version %s", key, object.GetResourceVersion()))
		case !w.looks(selection.View, key, object, version):
			differences = append(differences, fmt.Sprintf("%s is present at version %s, want %s", key, object.GetResourceVersion(), version))
		}
	}
	slices.Sort(differences)
	return differences
}

// looks reports whether an object looks the same in a view as it did at a version.
func (w *Writes) looks(view View, key Key, object *kubeconnectv1.Object, version string) bool {
	if object.GetResourceVersion() == version {
		return true
	}
	was, now := w.find(key, object.GetUid(), object.GetResourceVersion()), w.find(key, object.GetUid(), version)
	return was != nil && now != nil && view.same(was, now)
}

// Newest returns the version of the newest write, except deletions: a stream of this resource may
// never reach the version at which a deletion was seen.
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

// Knows reports whether all writes to an object have been added.
func (w *Writes) Knows(key Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known[key.Namespace] && !w.forgotten[key]
}

// isForgotten reports whether an object is excluded from all checks.
func (w *Writes) isForgotten(key Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.forgotten[key]
}

// forgottenCount returns the number of objects that are excluded from all checks.
func (w *Writes) forgottenCount() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return int64(len(w.forgotten))
}

func (w *Writes) keys() []Key {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := make([]Key, 0, len(w.byKey))
	for key := range w.byKey {
		if !w.forgotten[key] {
			keys = append(keys, key)
		}
	}
	return keys
}

// at returns the state of an object at a version; nil if it did not exist. going reports that it
// was deleted at about that version, so that it may also have been absent.
func (w *Writes) at(key Key, version string) (state *Write, deleting bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	writes := w.byKey[key]
	later := sort.Search(len(writes), func(i int) bool { return isNewer(writes[i].Version, version) })
	if later == 0 || writes[later-1].Deleted {
		return nil, false
	}
	return &writes[later-1], later < len(writes) && writes[later].Deleted && !writes[later].Exact
}

// expiring returns the state of an object before its deletion, if it has expired at this version; nil
// otherwise. A reader may have the deletions of only some objects at that version.
func (w *Writes) expiring(key Key, version string) *Write {
	w.mu.Lock()
	defer w.mu.Unlock()
	writes := w.byKey[key]
	for i := 1; i < len(writes); i++ {
		if writes[i].Expired && writes[i].Version == version {
			return &writes[i-1]
		}
	}
	return nil
}

// before returns the last write to an object before a version; nil if there is none.
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

// since returns the writes to an object after one version and up to another.
func (w *Writes) since(key Key, uid, after, upTo string) []Write {
	w.mu.Lock()
	defer w.mu.Unlock()
	var between []Write
	for _, write := range w.byKey[key] {
		if write.UID == uid && isNewer(write.Version, after) && !isNewer(write.Version, upTo) {
			between = append(between, write)
		}
	}
	return between
}

// newestAcked returns the write with the newest version among those that had been acknowledged by a
// time, except deletions; nil if there is none.
func (w *Writes) newestAcked(until time.Time) (newest *Write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, writes := range w.byKey {
		for i := range writes {
			write := &writes[i]
			if !write.Deleted && write.ackedBy(until) && (newest == nil || isNewer(write.Version, newest.Version)) {
				newest = write
			}
		}
	}
	return newest
}

// goneBy returns the deletion of an object that was known by a time; nil if there is none.
func (w *Writes) goneBy(key Key, uid string, until time.Time) *Write {
	w.mu.Lock()
	defer w.mu.Unlock()
	writes := w.byKey[key]
	for i := range writes {
		if write := &writes[i]; write.Deleted && write.UID == uid && write.ackedBy(until) {
			return write
		}
	}
	return nil
}

func (w Write) ackedBy(until time.Time) bool { return !w.Acked.IsZero() && w.Acked.Before(until) }

// find returns the write of a state; nil if there is none.
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

// isNewer reports whether a version is newer than another. An invalid version is not newer.
func isNewer(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order > 0
}

// heldSince returns a state of an object, and its later ones up to a version that a selection matched.
// A page that was not computed between two of them may begin after any of these.
func (w *Writes) heldSince(first *Write, selection Selection, version string) []Write {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.byKey[first.Key]), func(write Write) bool {
		return isNewer(first.Version, write.Version) || isNewer(write.Version, version) || !selection.holds(write)
	})
}
