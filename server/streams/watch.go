package streams

import (
	"context"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/target"
	"github.com/kubeconnect/kubeconnect/server/tokens"
)

// followedWatch is the state of a watch that is followed. It ends when the cluster serves the resource in another version.
//
// It is made by Watches.follow, in the goroutine of whileWaiting. From then on it belongs to the goroutine that follows the
// watch, which closes it.
type followedWatch struct {
	// Set once, like source.
	hub          *informerhub.Hub
	lease        *access.Lease
	endCache     func() // releases the cache if it belongs to this watch alone; for a page, its charge
	metadataOnly bool   // objects are reduced to their metadata

	kept *ledger.Charge // for the watcher of several namespaces; nil for a page, whose follower is charged
	// Changed by switchScope together with the tokens, so that each token names the scope of what was sent before it.
	cache  *informerhub.Cache // of the scope, or of the whole resource
	query  informerhub.Query
	scope  auth.Namespaces // the scope in query
	source eventSource
	tokens tokens.Watch
}

// eventSource is the source of the events of a watch: a plainSource or a livePage. Its methods
// are described at [informerhub.Watcher].
//
// A batch that NextUntil has written was delivered, as far as the source knows: the following batch continues after it. If
// the batch is not sent completely, Restart must be called before the next call of NextUntil.
type eventSource interface {
	// NextUntil writes the next batch to into, which is zero before. After an error, into has no batch.
	NextUntil(ctx context.Context, interrupt <-chan struct{}, into *watchBatch) error
	RequestBookmark()
	// Rescope and Restart take effect in the next call of NextUntil.
	Rescope(next *informerhub.Selection)
	Restart(next *informerhub.Selection)
	Close()
}

// watchBatch is a batch with what a page adds to it. In a watch without a page, all fields but Batch are zero.
//
// It keeps its objects in memory, and possibly a charge, until done is called. A stream therefore has a batch only from the
// end of next to the end of send, and an idle stream has none.
type watchBatch struct {
	informerhub.Batch
	places    []encode.Place           // of the events; empty without a page
	page      *kubeconnectv1.PageState // nil if neither the page nor its state has changed
	held      []byte                   // the objects of the page that the client has after the batch
	permitted func() bool              // reports whether the caller may still receive it; nil if the scope decides
	release   func()                   // releases what was computed for it; nil if nothing was
	// complete is the version of a BOOKMARK behind the batch. The position of a page has the version of the page, at which
	// other deletions may follow. Empty without a page: it is the version of the position.
	complete string
}

// joinedBytes returns the size of the results of joins in the batch.
func (b *watchBatch) joinedBytes() (size int) {
	for _, place := range b.places {
		size += len(place.Joined)
	}
	return size
}

// done releases what was computed for the batch, and the batch.
func (b *watchBatch) done() {
	if b.release != nil {
		b.release()
	}
	*b = watchBatch{}
}

// plainSource is the source of a watch without a page.
type plainSource struct{ *informerhub.Watcher }

// NextUntil implements eventSource. It does not write to the other fields of into, which are zero.
func (w plainSource) NextUntil(ctx context.Context, interrupt <-chan struct{}, into *watchBatch) (err error) {
	into.Batch, err = w.Watcher.NextUntil(ctx, interrupt)
	return err
}

// join attaches the watch to its cache, which has reached the version that the caller must see. A watch that resumes continues
// after since; nil begins with a snapshot.
func (w *followedWatch) join(ctx context.Context, since *informerhub.Position, version string) error {
	if err := target.AwaitVersion(ctx, w.cache, version); err != nil {
		return err
	}
	selection, err := w.cache.Select(ctx, w.query)
	if err != nil {
		return err
	}
	w.source = plainSource{w.cache.Watch(selection, informerhub.WatchOptions{
		Bookmarks:    BookmarkInterval,
		Since:        since,
		SinceTimeout: target.VersionTimeout,
	})}
	return nil
}

// close releases everything that belongs to this watch alone. The source leaves the cache before the cache ends.
func (w *followedWatch) close() {
	w.source.Close()
	if w.kept != nil {
		w.kept.Release()
	}
	w.endCache()
}

// rescope switches the watch to the current scope of its lease. The client receives the difference. Everything that was read
// in the scope before must have been sent.
func (w *followedWatch) rescope(ctx context.Context) error {
	return w.switchScope(ctx, eventSource.Rescope)
}

// restart starts a snapshot of the current scope of the lease. It is for a client that has received a part of a batch: no
// position describes what that client has.
func (w *followedWatch) restart(ctx context.Context) error {
	return w.switchScope(ctx, eventSource.Restart)
}

// switchScope makes the current scope of the lease the scope of the watch, and calls switchTo with the selection in that scope.
// After an error the stream ends, so it does not matter that the scope and the source differ then.
func (w *followedWatch) switchScope(ctx context.Context, switchTo func(eventSource, *informerhub.Selection)) error {
	w.scope = w.lease.Scope
	w.query.Namespaces = access.Restriction(w.scope)
	if request := w.lease.Request; request.Resource.Cacheable() {
		cache, err := access.Cache(ctx, w.hub, request, w.scope)
		if err != nil {
			return err
		}
		if w.kept != nil {
			if err := w.kept.Resize(cache.WatcherBytes()); err != nil {
				return err
			}
		}
		w.cache = cache
	}
	selection, err := w.cache.Select(ctx, w.query)
	if err != nil {
		return err
	}
	switchTo(w.source, selection)
	w.tokens = w.tokens.WithScope(w.scope)
	return nil
}
