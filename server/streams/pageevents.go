package streams

import (
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/server/encode"
)

// maxPageBatchBytes bounds the objects of one batch of a page. A stream retains them while it waits for
// memory and for its client. It is less than the memory of one caller's messages.
const maxPageBatchBytes = 1 << 20

// events returns the events that lead the client to a page, and their places. If their objects are too
// large for one batch, they are the first of these events. The next batch then leads the client from
// there to the page that is current then.
func (p *livePage) events(content pageContent) (events []informerhub.Event, places []encode.Place) {
	add := func(event informerhub.Event, place encode.Place) {
		event.ResourceVersion = content.at.Version
		events, places = append(events, event), append(places, place)
	}
	p.partial = false
	if p.reset {
		p.held, p.syncing = nil, true
		add(informerhub.Event{Type: informerhub.Reset}, encode.Place{})
	}
	if p.hasExactly(content) {
		return events, places
	}
	next, size := p.heldNext(content), 0
	changes := pageDifference(p.held, next, p.isSame)
	for i, change := range changes {
		event := p.eventOf(change)
		size += event.Object.RetainedSize() + event.Before.RetainedSize()
		if i > 0 && size > maxPageBatchBytes {
			p.held, p.partial = applied(p.held, changes[:i]), true
			return events, places
		}
		if change.kind != informerhub.Deleted {
			change.place.Joined = change.to.joined.message
		}
		add(event, change.place)
	}
	p.held = p.keepVersions(next)
	return events, places
}

// hasExactly reports whether the client has exactly these objects, which is usual.
func (p *livePage) hasExactly(content pageContent) bool {
	if len(p.held) != len(content.objects) {
		return false
	}
	for i, held := range p.held {
		if held.object != content.objects[i] || held.joined.hash != content.resultOf(i).hash {
			return false
		}
	}
	return true
}

// heldNow returns the objects that the client keeps.
func (p *livePage) heldNow() []heldObject {
	if p.reset {
		return nil
	}
	return p.held
}

// resultOf returns the results of the joins for an object.
func (c pageContent) resultOf(i int) joinedResult {
	if c.results == nil {
		return joinedResult{}
	}
	return c.results[i]
}

// heldNext returns the objects of the next page as the client will have them.
func (p *livePage) heldNext(content pageContent) []heldObject {
	next := make([]heldObject, len(content.objects))
	for i, object := range content.objects {
		result := content.resultOf(i)
		if i < len(p.held) && p.held[i].object == object && p.held[i].joined.hash == result.hash {
			next[i] = p.held[i]
		} else {
			next[i] = heldOf(object, result)
		}
	}
	return next
}

// isSame reports whether the next state of an object is the same for the client as the one that it
// has.
func (p *livePage) isSame(held, next heldObject) bool {
	if held.object == nil {
		return held.version == next.version
	}
	return held.joined.hash == next.joined.hash && (held.object == next.object || object.EqualUnder(p.fields, held.object, next.object))
}

// keepVersions returns the objects of the next page with the versions that the client has: an object
// that is the same for the client has not been sent again.
func (p *livePage) keepVersions(next []heldObject) []heldObject {
	known := make(map[objectID]heldObject, len(p.held))
	for _, held := range p.held {
		known[held.id] = held
	}
	for i, object := range next {
		if held, ok := known[object.id]; ok && p.isSame(held, object) {
			next[i].version = held.version
		}
		next[i].joined.message = ""
	}
	return next
}

// eventOf returns the event of a change. For an object that leaves the page, its place is enough.
func (p *livePage) eventOf(change pageChange) informerhub.Event {
	event := informerhub.Event{Type: change.kind}
	if change.kind != informerhub.Deleted {
		event.Object, event.Before = change.to.object.Masked(p.fields), change.from.object.Masked(p.fields)
	}
	return event
}

// token returns the part of a resume token that has the objects of the page.
func (p *livePage) token() []byte { return appendHeld(nil, int(p.state.GetOffset()), p.held) }
