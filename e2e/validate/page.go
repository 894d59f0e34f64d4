package validate

import (
	"fmt"
	"slices"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// Page is the state of a client of a page: a watch with a limit. The zero value has no objects. It
// is not safe for concurrent use.
type Page struct {
	// Objects holds the client's objects, in the order of the page.
	Objects []*kubeconnectv1.Object
	// Synced reports whether the first page is complete.
	Synced bool
	// State is the last state of the page; nil before the first one.
	State *kubeconnectv1.PageState
	// Version is the version up to which the client knows the page: that of State, or of a later
	// BOOKMARK.
	Version string
}

// Clone returns a copy that later responses do not change.
func (p *Page) Clone() Page {
	clone := *p
	clone.Objects = slices.Clone(p.Objects)
	return clone
}

// Read applies a response, whose patches it replaces by complete objects. It returns the problems
// with the events.
func (p *Page) Read(response *Response) (problems []string) {
	for i, event := range response.Events {
		if isWaiting(event) {
			continue
		}
		response.Events[i] = p.whole(event)
		if problem := p.apply(response.Events[i]); problem != "" {
			problems = append(problems, fmt.Sprintf("%s with index %d: %s", event.GetType(), event.GetIndex(), problem))
		}
	}
	if response.Page != nil {
		p.State, p.Version = response.Page, newerOf(p.Version, response.Page.GetResourceVersion())
	}
	return problems
}

// apply applies an event as the API specifies, and returns the problem with it.
func (p *Page) apply(event *kubeconnectv1.Event) string {
	switch event.GetType() {
	case kubeconnectv1.EventType_EVENT_TYPE_RESET:
		*p = Page{}
	case kubeconnectv1.EventType_EVENT_TYPE_SYNCED:
		p.Synced = true
	case kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK:
		p.Version = newerOf(p.Version, event.GetResourceVersion())
	case kubeconnectv1.EventType_EVENT_TYPE_ADDED:
		return p.add(event)
	case kubeconnectv1.EventType_EVENT_TYPE_DELETED:
		return p.remove(event)
	default:
		return p.change(event)
	}
	return ""
}

func (p *Page) add(event *kubeconnectv1.Event) string {
	object := event.GetObject()
	if object.GetName() == "" || object.GetUid() == "" || object.GetContent() == nil {
		return "the object has no name, no UID or no content"
	}
	if p.find(KeyOf(object)) >= 0 {
		return "the client has " + KeyOf(object).String()
	}
	return p.insert(event, object)
}

func (p *Page) remove(event *kubeconnectv1.Event) string {
	index := int(event.GetIndex())
	switch {
	case event.GetObject() != nil:
		return "it has an object"
	case index < 0 || index >= len(p.Objects):
		return fmt.Sprintf("the page has %d objects", len(p.Objects))
	}
	p.Objects = slices.Delete(p.Objects, index, index+1)
	return ""
}

// change applies a MODIFIED or a MOVED.
func (p *Page) change(event *kubeconnectv1.Event) string {
	object := event.GetObject()
	index := p.find(KeyOf(object))
	if index < 0 {
		return "the client does not have " + KeyOf(object).String()
	}
	held := p.Objects[index]
	p.Objects = slices.Delete(p.Objects, index, index+1)
	if held.GetUid() != object.GetUid() {
		return fmt.Sprintf("the client has UID %s of %s", held.GetUid(), KeyOf(object))
	}
	if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_MOVED {
		if object.GetContent() != nil {
			return "MOVED has content"
		}
		return p.insert(event, held)
	}
	if event.GetPatchFormat() != noPatch || object.GetContent() == nil {
		return "it has no content, or a patch that does not apply"
	}
	return p.insert(event, object)
}

func (p *Page) insert(event *kubeconnectv1.Event, object *kubeconnectv1.Object) string {
	index := int(event.GetIndex())
	if index < 0 || index > len(p.Objects) {
		p.Objects = append(p.Objects, object)
		return fmt.Sprintf("the page has %d objects", len(p.Objects)-1)
	}
	p.Objects = slices.Insert(p.Objects, index, object)
	return ""
}

// find returns the index of an object; -1 if the client does not have it.
func (p *Page) find(key Key) int {
	return slices.IndexFunc(p.Objects, func(held *kubeconnectv1.Object) bool { return KeyOf(held) == key })
}

// whole returns an event with a complete object, as Model.Whole.
func (p *Page) whole(event *kubeconnectv1.Event) *kubeconnectv1.Event {
	index := p.find(KeyOf(event.GetObject()))
	if event.GetPatchFormat() == noPatch || index < 0 {
		return event
	}
	held := Model{Objects: map[Key]*kubeconnectv1.Object{KeyOf(event.GetObject()): p.Objects[index]}}
	return held.Whole(event)
}
