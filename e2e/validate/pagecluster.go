package validate

import (
	"fmt"
	"slices"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// pageIsOfCluster also judges a BOOKMARK, which states that the page is the same at a later version.
var pageIsOfCluster = pageCheck{
	guarantee: Complete,
	name:      "a page, its total and its offset are those of the cluster at the page's version",
	broken: func(j *pageJudge) string {
		claims := j.response.Page != nil || j.response.has(kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK) && j.stated && !hasPageEvent(j.pending)
		if j.evidence.Writes == nil || !claims || j.page.State == nil {
			return ""
		}
		problem := j.compareAt(j.page.Version)
		if problem == "" {
			return ""
		}
		return fmt.Sprintf("at version %s %s; the page is %s, its state %v", j.page.Version, problem, namesOf(j.page.Objects), j.page.State)
	},
}

// candidate is an object that the selection contains at a version, or may contain.
type candidate struct {
	*Write
	// certain is false for an object that was deleted at about that version, and for one whose
	// permission was granted or revoked at about that time.
	certain bool
	held    bool // whether the client has it
}

// candidates returns the objects of the selection at a version, in order.
func (j *pageJudge) candidates(version string) []candidate {
	var all []candidate
	for _, key := range j.evidence.Writes.keys() {
		state, deleting := j.evidence.Writes.at(key, version)
		if state == nil {
			state, deleting = j.evidence.Writes.expiring(key, version), true
		}
		if state == nil || !j.recording.Selection.holds(*state) {
			continue
		}
		may, surely := j.permission(key)
		if may {
			all = append(all, candidate{Write: state, certain: surely && !deleting, held: j.page.find(key) >= 0})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int { return j.recording.Order.compare(a.Write, b.Write) })
	return all
}

// permission reports whether the client may have had the permission to read an object, and whether
// it surely had.
func (j *pageJudge) permission(key Key) (may, surely bool) {
	rights, at, noticed := j.evidence.Rights, j.response.At, j.evidence.Recheck
	if rights == nil {
		return true, true
	}
	return rights.within(key, at.Add(-noticed), at), rights.throughout(key, at, at, noticed)
}

// compareAt returns how the client's page differs from the cluster at a version.
func (j *pageJudge) compareAt(version string) string {
	all := j.candidates(version)
	objects := slices.DeleteFunc(slices.Clone(j.page.Objects), func(held *kubeconnectv1.Object) bool {
		return j.evidence.Writes.isForgotten(KeyOf(held))
	})
	for _, object := range objects {
		i := slices.IndexFunc(all, func(c candidate) bool { return c.Key == KeyOf(object) })
		switch {
		case i < 0:
			return fmt.Sprintf("%s is not in the selection", KeyOf(object))
		case !j.standsFor(object, all[i].Write):
			return fmt.Sprintf("the client has %s, UID %s, at version %s, the cluster UID %s at %s",
				KeyOf(object), object.GetUid(), object.GetResourceVersion(), all[i].UID, all[i].Version)
		}
	}
	switch {
	case len(objects) > 0:
	case len(j.page.Objects) == 0:
		return j.compareTotal(all, version)
	default:
		return "" // the client has only objects that are not judged
	}
	first := slices.IndexFunc(all, func(c candidate) bool { return c.held })
	within := all[first:]
	for i, object := range objects {
		for len(within) > 0 && !within[0].held && !within[0].certain {
			within = within[1:]
		}
		if len(within) == 0 || within[0].Key != KeyOf(object) {
			return fmt.Sprintf("the object with index %d is not %s: the order is %s", i, keyOfFirst(within), keysOf(all))
		}
		within = within[1:]
	}
	return j.compareNumbers(all[:first], within, version)
}

// standsFor reports whether an object of the client is in the state of the cluster: in this version,
// or in an older one that looks the same.
func (j *pageJudge) standsFor(held *kubeconnectv1.Object, state *Write) bool {
	if held.GetResourceVersion() == state.Version {
		return held.GetUid() == state.UID
	}
	view := j.recording.Selection.View
	return view.hides() && !isNewer(held.GetResourceVersion(), state.Version) &&
		j.evidence.Writes.looks(view, state.Key, held, state.Version)
}

// compareTotal compares the total of an empty page with the objects of the selection.
func (j *pageJudge) compareTotal(all []candidate, version string) string {
	total := j.page.State.GetTotalCount()
	if least, most := j.counts(all); total < least || total > most {
		return fmt.Sprintf("the total is not %d to %d", least, most)
	}
	return j.compareAnchor(version)
}

// couldReadAnchor reports whether the client has had the permission for an object since the call began, and
// every component has noticed it.
func (j *pageJudge) couldReadAnchor(key Key) bool {
	rights := j.evidence.Rights
	return rights == nil || rights.throughout(key, j.recording.Calls[j.calls].Began, j.response.At, j.evidence.Recheck)
}

// compareNumbers compares the state of the page with the objects before and after the page.
func (j *pageJudge) compareNumbers(before, after []candidate, version string) string {
	total, offset, held := j.page.State.GetTotalCount(), j.page.State.GetOffset(), int64(len(j.page.Objects))
	if least, most := j.counts(before); offset < least || offset > most {
		return fmt.Sprintf("the offset is not %d to %d", least, most)
	}
	if least, most := j.counts(after); total-offset-held < least || total-offset-held > most {
		return fmt.Sprintf("after the page there are not %d to %d", least, most)
	}
	return j.compareAnchor(version)
}

// compareAnchor returns a problem if the page does not begin after the object of its range. It
// judges only an object that was in the selection when the call began, and that the client could read
// then: a page after another object begins where the page before was.
func (j *pageJudge) compareAnchor(version string) string {
	after := j.recording.Ranges[j.calls].After
	if after == nil {
		return ""
	}
	state, deleting := j.evidence.Writes.at(*after, version)
	if state != nil && !deleting && j.recording.Selection.holds(*state) && j.couldReadAnchor(*after) {
		j.anchor = state
	}
	if j.anchor == nil {
		return ""
	}
	offset := j.page.State.GetOffset()
	for _, place := range j.evidence.Writes.heldSince(j.anchor, j.recording.Selection, version) {
		least, most := j.counts(slices.DeleteFunc(j.candidates(version), func(c candidate) bool {
			return j.recording.Order.compare(c.Write, &place) > 0
		}))
		if least <= offset && offset <= most {
			return ""
		}
	}
	return fmt.Sprintf("the page does not begin after %s, which the selection contained last at version %s", after, j.anchor.Version)
}

// counts returns the least and the largest number of objects that there may be, of which those that
// are not judged may be anywhere.
func (j *pageJudge) counts(of []candidate) (least, most int64) {
	for _, c := range of {
		if c.certain || c.held {
			least++
		}
		most++
	}
	return least, most + j.evidence.Writes.forgottenCount()
}

func keysOf(all []candidate) []string {
	var keys []string
	for _, c := range all {
		keys = append(keys, c.Key.String()+"@"+c.Version)
	}
	return keys
}

func keyOfFirst(all []candidate) string {
	if len(all) == 0 {
		return "at the end"
	}
	return all[0].Key.String()
}
