package streams

import (
	"context"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/target"
	"github.com/kubeconnect/kubeconnect/server/tokens"
)

// followedWatch is the state of a watch that is followed. It ends when the cluster serves the resource in another version.
type followedWatch struct {
	lease        *access.Lease
	cache        *informerhub.Cache
	endCache     func() // releases the cache if it belongs to this watch alone
	metadataOnly bool   // objects are reduced to their metadata
	query        informerhub.Query
	scope        auth.Namespaces // the scope in query
	source       eventSource
	tokens       tokens.Watch
}

// eventSource is the source of the events of a watch: a plainSource or a livePage. Its methods
// are described at [informerhub.Watcher].
type eventSource interface {
	// NextUntil writes the next batch to into.
	NextUntil(ctx context.Context, interrupt <-chan struct{}, into *watchBatch) error
	RequestBookmark()
	Rescope(next *informerhub.Selection)
	Restart(next *informerhub.Selection)
	Close()
}

// watchBatch is a batch with what a page adds to it. The zero value of all but Batch is that of a watch without a page.
type watchBatch struct {
	informerhub.Batch
	places    []encode.Place           // of the events; empty without a page
	page      *kubeconnectv1.PageState // nil if neither the page nor its state has changed
	held      []byte                   // the objects of the page that the client has after the batch
	permitted func() bool              // reports whether the caller may still receive it; nil if the scope decides
	release   func()                   // releases what was computed for it; nil if nothing was
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

// NextUntil implements eventSource.
func (w plainSource) NextUntil(ctx context.Context, interrupt <-chan struct{}, into *watchBatch) (err error) {
	into.Batch, err = w.Watcher.NextUntil(ctx, interrupt)
	return err
}

// join attaches the watch to its cache.
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

// close releases everything that belongs to this watch alone.
func (w *followedWatch) close() {
	w.source.Close()
	w.endCache()
}

// rescope switches the watch to the current scope of its lease.
func (w *followedWatch) rescope(ctx context.Context) error {
	return w.switchScope(ctx, eventSource.Rescope)
}

// restart starts a snapshot of the current scope of the lease.
func (w *followedWatch) restart(ctx context.Context) error {
	return w.switchScope(ctx, eventSource.Restart)
}

func (w *followedWatch) switchScope(ctx context.Context, switchTo func(eventSource, *informerhub.Selection)) error {
	w.scope = w.lease.Scope
	w.query.Namespaces = access.Restriction(w.scope)
	selection, err := w.cache.Select(ctx, w.query)
	if err != nil {
		return err
	}
	switchTo(w.source, selection)
	w.tokens = w.tokens.WithScope(w.scope)
	return nil
}
