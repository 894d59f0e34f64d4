package streams

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/follow"
	"github.com/kubeconnect/kubeconnect/server/sorted"
	"github.com/kubeconnect/kubeconnect/server/target"
)

// livePage is the source of the events of a watch with a page. The sorted objects belong to a
// follower, which all streams with the same selection and order share. The page reads its range after
// each publication, and compares it with the objects that the client has. It is owned by the
// goroutine that follows the watch.
//
// A batch is made in steps, and only the last step changes what the client has:
//
//	wait ─▶ read: the range, under the follower's lock ─▶ joins: results for new objects ─▶ batch: the difference
//
// Every step before can block, and can fail when its context ends. The next call then begins again with wait, and no
// change is lost. After batch nothing can fail. The caller sends the batch, or calls Restart: held is then dropped, because
// the client may have only a part of it.
type livePage struct {
	// Set once.
	pages     *follow.Followers[sorted.OrderKey, *sorted.Objects]
	cache     *informerhub.Cache
	isPrivate bool           // the cache belongs to the stream
	account   ledger.Account // of the stream
	params    pageParams
	fields    *mask.Mask // of the objects that are sent; nil for all fields
	joined    *liveJoins // nil for none

	// What the next batch is made from.
	selection *informerhub.Selection
	follower  *follow.Follower[sorted.OrderKey, *sorted.Objects] // nil before it has joined the selection's
	reached   []informerhub.Position                             // that the next follower must reach
	reset     bool                                               // the next batch begins with Reset

	// Where the page begins, if the request names the object before it; see place.
	anchor  *sorted.Entry           // of params.after, at its last place; nil before it was found
	resumed []heldObject            // the objects of the page that was resumed; nil after the first read
	first   *informerhub.ObjectName // the first of them that is still in the selection; nil for none

	// What the client has after the last batch. Until that batch is sent, the client has less.
	held     []heldObject
	syncing  bool                     // it has received Reset, and no Synced since
	state    *kubeconnectv1.PageState // nil before the first batch, unless the page was resumed
	at       follow.Moment            // of the last batch, also of a part of a page; zero before the first batch
	warnings []string                 // that were sent last

	// Of the last batch.
	places       []encode.Place
	partial      bool                     // it does not lead to a whole page: another batch follows
	changedState *kubeconnectv1.PageState // nil if neither the page nor its state has changed
	bookmarkAt   time.Time                // of the last batch with Synced or Bookmark
}

// pageContent is what a page reads at once. All of it is of one moment.
type pageContent struct {
	objects []*informerhub.Object
	offset  int // number of objects of the selection before the page
	total   int // number of objects of the selection
	at      follow.Moment
	results []joinedResult // of the objects; nil without joins
}

// keptObjectBytes estimates the memory of a heldObject, and of its part of a resume token.
const keptObjectBytes = 256

// resume continues the page of a token at a position. Without a position, or if the position lies in
// a history that was undone, only the place of the page is used: the first batch begins with Reset.
//
// With a position, the first batch has the difference to the objects of the token. The follower must
// reach the version of the position before: a page that is older would take the client back in time.
func (p *livePage) resume(ctx context.Context, position *informerhub.Position, held []byte) error {
	offset, objects, err := parseHeld(held)
	if err != nil {
		return err
	}
	p.state, p.resumed = &kubeconnectv1.PageState{Offset: int64(offset)}, objects
	if position == nil {
		return nil
	}
	switch err := p.cache.AwaitPosition(ctx, *position, target.VersionTimeout); {
	case errors.Is(err, informerhub.ErrUndone):
		return nil
	case err != nil:
		return err
	}
	p.held, p.reset = objects, false
	p.reached = append(p.reached, *position)
	return nil
}

// join joins the follower of the selection. A bookmark is due at once, so that the first batch is never empty: it shows
// that the client is current, also if the page is exactly what the client has.
func (p *livePage) join(ctx context.Context) error {
	question := follow.Question[sorted.OrderKey]{
		Cache: p.cache, Selection: p.selection, State: p.params.order.Key(), Account: p.account, Private: p.isPrivate,
	}
	follower, err := p.pages.Join(ctx, question, func(func(int) error) *sorted.Objects {
		objects, _ := sorted.NewObjects(p.params.order) // parsePage has checked the order
		return objects
	})
	if err != nil {
		return err
	}
	// The cache has reached the version, but a follower publishes at an interval, and may be behind.
	for _, position := range p.reached {
		if err := follower.Reach(ctx, position); err != nil {
			follower.Leave(p.account)
			return err
		}
	}
	p.follower, p.reached, p.bookmarkAt = follower, nil, time.Time{}
	return nil
}

// Rescope implements eventSource. The next batch has the difference between the pages of both selections. The follower is left
// at once, and the next call of NextUntil joins the follower of the new selection, because Rescope must not block. That follower
// is another one, and must have reached the version that the client has.
func (p *livePage) Rescope(next *informerhub.Selection) {
	p.Close()
	p.selection, p.cache = next, next.Cache()
	if p.reached = nil; p.at.Epoch != 0 {
		p.reached = []informerhub.Position{p.at.Position.AtThrough(p.at.Version)}
	}
}

// Restart implements eventSource. What the client has is dropped when the next batch is made; see heldNow.
func (p *livePage) Restart(next *informerhub.Selection) {
	p.Rescope(next)
	p.reset = true
}

// Close implements eventSource. The page can be used again afterwards, as Rescope does.
func (p *livePage) Close() {
	if p.follower != nil {
		p.follower.Leave(p.account)
		p.follower = nil
	}
	p.release()
}

// RequestBookmark implements eventSource.
func (p *livePage) RequestBookmark() { p.bookmarkAt = time.Time{} }

// NextUntil implements source: see [informerhub.Watcher.NextUntil].
func (p *livePage) NextUntil(ctx context.Context, interrupt <-chan struct{}, into *watchBatch) error {
	if p.follower == nil {
		if err := p.join(ctx); err != nil {
			return err
		}
	}
	for {
		if err := p.wait(ctx, interrupt); err != nil {
			return err
		}
		batch, err := p.next(ctx)
		if err != nil {
			return err
		}
		if len(batch.Events) > 0 {
			// From here on the results of joins belong to the batch: they are released when it was sent.
			*into = watchBatch{batch, p.places, p.changedState, p.token(), p.isPermitted, p.release, p.at.Position.Version}
			return nil
		}
		p.release()
	}
}

// next returns the batch from the page that the client has to the page as it is now. It has no events if
// the pages are the same. After the first page it keeps to the pace of the caller's streams. The first page
// waits for no turn, because the caller has asked for it, and neither do the further parts of a page after a Reset.
//
// The turn ends before the batch is sent: a client that does not read must not keep the turn of its caller.
func (p *livePage) next(ctx context.Context) (informerhub.Batch, error) {
	if p.at.Epoch != 0 && !p.syncing {
		end, err := fairqueue.BeginTurn(ctx)
		if err != nil {
			return informerhub.Batch{}, err
		}
		defer end()
	}
	// The objects are immutable, so the content can be used after the follower has published again.
	content, err := p.read()
	if err != nil {
		return informerhub.Batch{}, err
	}
	// The joins come before the processor slot: they can wait for a cache, which work in a slot must not.
	if content.results, err = p.joined.results(ctx, content.objects, p.heldNow()); err != nil {
		return informerhub.Batch{}, err
	}
	return p.batchInSlot(ctx, content)
}

// batchInSlot returns the batch of a page. It uses a processor slot if many objects, or large objects, must be compared.
//
// The wait for the slot is the last step that can fail. Only after it the results of the joins are settled: settled results
// that no batch has would never reach the client.
func (p *livePage) batchInSlot(ctx context.Context, content pageContent) (informerhub.Batch, error) {
	isLong := len(content.objects)+len(p.held) > shortPage || p.fields != nil && budget.IsLong(content.objects)
	if isLong && !p.hasExactly(content) {
		_, end, err := fairqueue.Begin(ctx)
		if err != nil {
			return informerhub.Batch{}, err
		}
		defer end()
	}
	p.joined.settle()
	return p.batch(content), nil
}

// shortPage is the number of objects, of a page and of the one before, that are compared in less time
// than a processor slot lasts, unless their fields must be read.
const shortPage = 50

// wait blocks until there is something to read, a bookmark is due, or related objects must be looked at.
func (p *livePage) wait(ctx context.Context, interrupt <-chan struct{}) error {
	// After a part of a page, the rest follows without a change. After a renewal, the joins are resolved again at once: the
	// caller may have lost the permission for related objects that the client has.
	if p.partial || p.joined.isOutdated() {
		return nil
	}
	quiet, cancel := context.WithDeadline(ctx, p.joined.wakeBefore(p.bookmarkAt.Add(BookmarkInterval)))
	defer cancel()
	// Only the end of quiet alone means that time has passed. An interrupt, or the end of the follower, is returned.
	err := p.follower.Wait(quiet, p.at, interrupt)
	if err != nil && ctx.Err() == nil && quiet.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// read reads the range of the page from the sorted objects. Publications wait while it reads, so it copies the range, of at
// most maxInPage pointers, and nothing else.
func (p *livePage) read() (content pageContent, err error) {
	if err := p.findResumed(); err != nil {
		return pageContent{}, err
	}
	failed := p.follower.Read(func(objects *sorted.Objects, at follow.Moment) {
		if content.offset, err = p.place(objects); err == nil {
			content.at, content.total = at, objects.Len()
			content.objects = objects.Range(content.offset, p.params.limit)
		}
	})
	if failed != nil {
		return pageContent{}, failed
	}
	if p.at.Version != "" && object.Older(content.at.Version, p.at.Version) {
		p.reset = true // the cluster's store was restored from a backup
	}
	return content, err
}

// place returns the number of objects before the page. It is called under the follower's lock.
//
// A page after an object follows that object wherever it moves. If the object leaves the selection, the page stays at the
// object's last place in the order, so objects that are added before it still move the page. The place is, in this order:
//
//  1. behind params.after, while it is in the selection;
//  2. at the last place of params.after;
//  3. at the first object of a page that was resumed, if params.after has left the selection before;
//  4. at the offset of that page, if its objects have left the selection too.
//
// Without any of these, the object before the page was never there, which is an error of the request.
func (p *livePage) place(objects *sorted.Objects) (int, error) {
	after := p.params.after
	if after == nil {
		return min(p.params.offset, objects.Len()), nil
	}
	if entry, ok := objects.Find(after.Namespace, after.Name); ok {
		p.anchor = &entry
		return objects.IndexOf(entry) + 1, nil
	}
	if p.anchor == nil && p.first != nil {
		if entry, ok := objects.Find(p.first.Namespace, p.first.Name); ok {
			p.anchor = &entry
		}
	}
	switch {
	case p.anchor != nil:
		return objects.IndexOf(*p.anchor), nil
	case p.state != nil:
		return min(int(p.state.GetOffset()), objects.Len()), nil
	}
	return 0, apierrors.NewNotFound(p.cache.Resource().GroupResource(), after.Name)
}

// maxSearched bounds the objects, before and after the place of a page that is resumed, among which
// the objects of that page are searched. A token has only hashes of the objects, so each object that is
// compared must be hashed.
const maxSearched = 2000

// findResumed finds the first object of a page that was resumed which is still in the selection, near
// the page's place. The page begins there if the object before the page is no longer in the selection:
// objects before the page may be missing too, so that the offset of the page is no longer right.
func (p *livePage) findResumed() error {
	page := p.resumed
	if p.resumed = nil; len(page) == 0 || p.params.after == nil {
		return nil
	}
	var near []*informerhub.Object
	if err := p.follower.Read(func(objects *sorted.Objects, _ follow.Moment) {
		if _, found := objects.Find(p.params.after.Namespace, p.params.after.Name); !found {
			near = objects.Range(max(0, int(p.state.GetOffset())-maxSearched), 2*maxSearched)
		}
	}); err != nil {
		return err
	}
	// The hashes are computed after the read, because publications wait for a read.
	byID := make(map[objectID]*informerhub.Object, len(near))
	for _, object := range near {
		byID[idOf(object)] = object
	}
	for _, held := range page {
		if object := byID[held.id]; object != nil {
			p.first = &informerhub.ObjectName{Namespace: object.Namespace(), Name: object.Name()}
			return nil
		}
	}
	return nil
}

// batch returns the difference between a page and what the client has; without events if there is
// none and no bookmark is due. It alone changes what the client has, and it cannot fail.
//
// All events have the version of the page: they are one step, and a client can resume only after the last of them.
func (p *livePage) batch(content pageContent) informerhub.Batch {
	batch := informerhub.Batch{Position: content.at.Position.AtThrough(content.at.Version), Freshness: p.joined.freshness(content.at.Freshness)}
	if warnings := slices.Concat(content.at.Warnings, p.joined.allWarnings()); !slices.Equal(p.warnings, warnings) {
		batch.Warnings, p.warnings = warnings, warnings
	}
	whole := !p.partial // the batch before led to a whole page
	batch.Events, p.places = p.events(content)
	// A part of a page has no state, no Synced and no token. The client cannot resume after it, because its page is
	// not one that has ever existed.
	if p.partial {
		p.at, p.reset, p.changedState = content.at, false, nil
		return batch.Unresumable()
	}
	// After a part, the state is due even if the rest of the page has become the same meanwhile.
	p.setState(content, len(batch.Events) > 0 || !whole)
	if last, ok := p.lastEvent(content, len(batch.Events) > 0, len(batch.Warnings) > 0); ok {
		version := content.at.Version
		if last == informerhub.Bookmark {
			version = content.at.Position.Version // other deletions at the version of the page may follow
		}
		batch.Events = append(batch.Events, informerhub.Event{Type: last, ResourceVersion: version})
		p.places, p.bookmarkAt = append(p.places, encode.Place{}), time.Now()
	}
	p.at, p.reset = content.at, false
	return batch
}

// setState sets the state of the page in the next response, if the page or its state has changed.
func (p *livePage) setState(content pageContent, changed bool) {
	state := &kubeconnectv1.PageState{TotalCount: int64(content.total), Offset: int64(content.offset), ResourceVersion: content.at.Version}
	p.changedState = nil
	if changed || p.at.Epoch == 0 || state.GetTotalCount() != p.state.GetTotalCount() || state.GetOffset() != p.state.GetOffset() {
		p.changedState = state
	}
	p.state = state
}

// lastEvent returns the type of the event without an object that ends a batch of a whole page; false
// if it has none.
//
// Synced ends the first whole page after a Reset. A Bookmark carries what no other event does: a state of the page, or warnings, that
// have changed although its objects have not, such as the number of all objects, or that the cache has become stale or current.
func (p *livePage) lastEvent(content pageContent, changed, warns bool) (informerhub.EventType, bool) {
	switch {
	case p.syncing:
		p.syncing = false
		return informerhub.Synced, true
	case (p.changedState != nil || warns) && !changed, content.at.Freshness.Stale != p.at.Freshness.Stale, time.Since(p.bookmarkAt) >= BookmarkInterval:
		return informerhub.Bookmark, true
	}
	return 0, false
}

// maxPageBatchBytes bounds the objects of one batch of a page. A stream retains them while it waits for
// memory and for its client. It is less than the memory of one caller's messages.
const maxPageBatchBytes = 1 << 20

// events returns the events that lead the client to a page, and their places. If their objects are too
// large for one batch, they are the first of these events. The next batch then leads the client from
// there to the page that is current then.
//
// It sets held to the page that the client has after the events, and partial.
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
		return events, places // most publications change other parts of the order
	}
	next, size := p.heldNext(content), 0
	changes := pageDifference(p.held, next, p.isSame)
	for i, change := range changes {
		event := p.eventOf(change)
		size += event.Object.RetainedSize() + event.Before.RetainedSize()
		// At least one event is sent, however large it is, so that each batch leads further.
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

// hasExactly reports whether the client has exactly these objects, in the same states. It compares pointers and hashes only.
// False means that a comparison of the fields must decide.
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

// heldNow returns the objects that the client keeps; none if the next batch begins with Reset. Joins compute results with
// messages for all objects that are not among them.
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

// heldNext returns the objects of the next page as the client will have them. Objects that have not changed keep their value,
// which saves two hashes for each.
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

// isSame reports whether the next state of an object is the same for the client as the state that it
// has. An object of a resumed stream is known only by the hash of its version, so that a change of
// fields that are not sent counts too.
func (p *livePage) isSame(held, next heldObject) bool {
	if held.object == nil {
		return held.version == next.version
	}
	return held.joined.hash == next.joined.hash && (held.object == next.object || object.EqualUnder(p.fields, held.object, next.object))
}

// keepVersions returns the objects of the next page with the versions that the client has: an object
// that is the same for the client has not been sent again. With the version of the cache instead, the token would name a
// state that this client never received. The messages of joins are dropped, because the batch has them now.
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

// token returns the part of a resume token that has the objects of the page after the batch. It is made for each batch, also
// for a part of a page, which is sent without a token.
func (p *livePage) token() []byte { return appendHeld(nil, int(p.state.GetOffset()), p.held) }

// isPermitted reports whether the caller still has the permissions that the results of joins depend
// on. The scope of the lease does not show that: it covers the objects of the page alone.
func (p *livePage) isPermitted() bool {
	return p.joined == nil || p.joined.lease.CoversRelated(p.joined.permitted)
}

// release releases the results of joins that were computed last: they were sent, or are not needed. It is called for each
// batch, sent or empty, and when the follower is left.
func (p *livePage) release() {
	p.places = nil
	if p.joined != nil {
		_ = p.joined.unsent.Resize(0)
	}
}
