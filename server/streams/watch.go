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

// watch is the state of one watch. It ends when the cluster serves the resource in another version.
type watch struct {
	lease        *access.Lease
	cache        *informerhub.Cache
	endCache     func() // releases the cache if it belongs to this watch alone
	metadataOnly bool   // objects are reduced to their metadata
	query        informerhub.Query
	scope        auth.Namespaces // the scope in query
	watcher      watcher
	tokens       tokens.Watch
}

// watcher is the source of the events of a watch: a plainWatcher or a livePage. Its methods
// are described at [informerhub.Watcher].
type watcher interface {
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

// plainWatcher is the watcher of a watch without a page.
type plainWatcher struct{ *informerhub.Watcher }

// NextUntil implements watcher.
func (w plainWatcher) NextUntil(ctx context.Context, interrupt <-chan struct{}, into *watchBatch) (err error) {
	into.Batch, err = w.Watcher.NextUntil(ctx, interrupt)
	return err
}

// join attaches the watch to its cache.
func (w *watch) join(ctx context.Context, since *informerhub.Position, version string) error {
	if err := target.AwaitVersion(ctx, w.cache, version); err != nil {
		return err
	}
	selection, err := w.cache.Select(ctx, w.query)
	if err != nil {
		return err
	}
	w.watcher = plainWatcher{w.cache.Watch(selection, informerhub.WatchOptions{
		Bookmarks:    BookmarkInterval,
		Since:        since,
		SinceTimeout: target.VersionTimeout,
	})}
	return nil
}

// close releases everything that belongs to this watch alone.
func (w *watch) close() {
	w.watcher.Close()
	w.endCache()
}

// rescope switches the watch to the current scope of its lease.
func (w *watch) rescope(ctx context.Context) error {
	return w.switchScope(ctx, watcher.Rescope)
}

// restart starts a snapshot of the current scope of the lease.
func (w *watch) restart(ctx context.Context) error {
	return w.switchScope(ctx, watcher.Restart)
}

func (w *watch) switchScope(ctx context.Context, switchTo func(watcher, *informerhub.Selection)) error {
	w.scope = w.lease.Scope
	w.query.Namespaces = access.Restriction(w.scope)
	selection, err := w.cache.Select(ctx, w.query)
	if err != nil {
		return err
	}
	switchTo(w.watcher, selection)
	w.tokens = w.tokens.WithScope(w.scope)
	return nil
}
